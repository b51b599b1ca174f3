# formula.rb FORMULA PREFIX: does what `brew install` and `brew test` do with our formula, for a machine without Homebrew:
# the checksum, then `install` inside the unpacked archive, then `test`. Only what our formula uses is here.
require "digest"
require "fileutils"
require "open3"
require "pathname"
require "tmpdir"

PREFIX = Pathname(ARGV.fetch(1))

# A folder that things are installed into.
class Folder < Pathname
  def install(files)
    mkpath
    FileUtils.mv(files, to_s)
  end
end

class Formula
  class << self
    attr_reader :checked

    def desc(_text); end
    def license(_terms); end
    def depends_on(_what); end
    def url(address = nil) = address ? @url = address : @url
    def sha256(sum = nil) = sum ? @sha256 = sum : @sha256
    def test(&block) = @checked = block
  end

  def bin = PREFIX/"bin"
  def man1 = Folder.new(PREFIX/"share/man/man1")
  def version = self.class.url[/-(\d[\d.]*)\.tar/, 1]
  def std_cargo_args(path:) = ["--locked", "--root=#{PREFIX}", "--path=#{path}"]
  def mkdir(folder) = FileUtils.mkdir_p(folder)
  def on_linux = yield

  def system(*command)
    Kernel.system(*command.map(&:to_s), exception: true)
  end

  def shell_output(command)
    text, status = Open3.capture2(command)
    raise "#{command}: #{status}" unless status.success?

    text
  end

  def generate_completions_from_executable(program, argument)
    %w[bash zsh fish].each { |shell| raise "no completions for #{shell}" if shell_output("#{program} #{argument} #{shell}").empty? }
  end

  def assert_match(wanted, text)
    raise "#{wanted} is not in #{text}" unless text.include?(wanted)
  end
end

require File.expand_path(ARGV.fetch(0))
archive = Jobmeter.url.delete_prefix("file://")
sum = Digest::SHA256.file(archive).hexdigest
raise "the formula has #{Jobmeter.sha256}, the archive #{sum}" unless Jobmeter.sha256 == sum

formula = Jobmeter.new
Dir.mktmpdir do |folder|
  Kernel.system("tar", "-xzf", archive, "-C", folder, "--strip-components=1", exception: true)
  Dir.chdir(folder) { formula.install }
end
formula.instance_eval(&Jobmeter.checked)
raise "no manual page" unless (formula.man1/"jobmeter-run.1").exist?

puts "The formula installs jobmeter #{formula.version}."
