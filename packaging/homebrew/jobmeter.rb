# Homebrew formula for Linux: builds the command from the source archive of a release, which has its crates inside.
# `brew install --formula packaging/homebrew/jobmeter.rb` after `make release`.
class Jobmeter < Formula
  desc "Meter for compute jobs: time, CPU, RAM, GPU, disk and network"
  # A published formula names the address of the archive, and its checksum from SHA256SUMS.
  url "file://#{File.expand_path("../../release/jobmeter-0.2.0.tar.gz", __dir__)}"
  license any_of: ["MIT", "Apache-2.0"]

  depends_on "rust" => :build

  def install
    system "cargo", "install", "--offline", *std_cargo_args(path: "crates/jobmeter-cli")
    generate_completions_from_executable(bin/"jobmeter", "completions")
    mkdir "man"
    system bin/"jobmeter", "man", "--into", "man"
    man1.install Dir["man/*.1"]
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/jobmeter --version")
    on_linux { system bin/"jobmeter", "run", "--no-record", "--", "true" }
  end
end
