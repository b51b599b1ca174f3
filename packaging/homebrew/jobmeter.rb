# Homebrew formula for Linux: builds the command from the source archive of a release, which has its crates inside.
# `make release` puts this file, with the checksum filled in, beside the archive: `brew install --formula release/jobmeter.rb`.
class Jobmeter < Formula
  desc "Meter for compute jobs: time, CPU, RAM, GPU, disk and network"
  # Who publishes it names the address of the archive here.
  url "file://#{__dir__}/jobmeter-0.2.0.tar.gz"
  sha256 "SHA256_OF_THE_SOURCE_ARCHIVE"
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
