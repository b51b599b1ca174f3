// Reads a Nextflow configuration as Nextflow does: Groovy compiles it, labels are skipped, names are calls with a block,
// values are assignments. Prints it as JSON.
class Scope {
    Map found = [:]
    def methodMissing(String name, args) {
        def inner = new Scope()
        Closure body = args[0]
        body.delegate = inner
        body.resolveStrategy = Closure.DELEGATE_ONLY
        body()
        found[name] = inner.found
    }
    void setProperty(String name, value) { if (name == 'found') { this.@found = value } else { found[name] = value } }
}
def script = new GroovyShell().parse(new File(args[0]))
def top = new Scope()
script.metaClass.methodMissing = { String name, a -> top.methodMissing(name, a) }
script.run()
println groovy.json.JsonOutput.toJson(top.found)
