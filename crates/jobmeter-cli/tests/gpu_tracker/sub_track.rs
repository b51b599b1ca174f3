//! Sub-tracking: files of several processes combined, analyzed and compared.

use crate::place::{Place, text};

const SUB_HEADER: &str = "process_id,code_block_name,position,timestamp\n";

/// Two measurements at 10 and 11; `block` holds both, `main.py:10` is called twice and holds the first.
fn sub_tracking(place: &Place) {
    place.write(
        "one.csv",
        &format!(
            "{SUB_HEADER}1,main.py:10,0,9.5\n1,main.py:10,1,10.5\n1,main.py:10,0,10.6\n1,main.py:10,1,10.7\n"
        ),
    );
    place.write(
        "two.csv",
        &format!("{SUB_HEADER}2,\"a, block\",0,9.0\n2,\"a, block\",1,11.0\n2,idle,0,20.0\n2,idle,1,21.5\n"),
    );
    let names = "main_ram,descendants_ram,combined_ram,system_ram,main_gpu_ram,descendants_gpu_ram,combined_gpu_ram,\
        system_gpu_ram,gpu_sum_utilization_percent,gpu_hardware_utilization_percent,main_n_threads,\
        descendants_n_threads,combined_n_threads,cpu_system_sum_utilization_percent,\
        cpu_system_hardware_utilization_percent,cpu_main_sum_utilization_percent,cpu_main_hardware_utilization_percent,\
        cpu_descendants_sum_utilization_percent,cpu_descendants_hardware_utilization_percent,\
        cpu_combined_sum_utilization_percent,cpu_combined_hardware_utilization_percent,timestamp";
    let zeros = "0.0,0.0,0.0,0.0,0.0,0.0";
    place.write(
        "t.csv",
        &format!(
            "ram_unit,gpu_ram_unit,time_unit,ram_system_capacity,gpu_ram_system_capacity,system_core_count,\
             n_expected_cores,system_gpu_count,n_expected_gpus\r\ngigabytes,gigabytes,hours,25.274793984000002,0.0,2,2,0,0\r\n\
             {names}\r\n0.25,0.5,0.75,1.0,{zeros},1,2,3,50.0,25.0,10.0,5.0,0.0,0.0,10.0,5.0,10.0\r\n\
             0.5,0.5,1.0,1.5,{zeros},1,3,4,150.0,75.0,30.0,15.0,0.0,0.0,30.0,15.0,11.0\r\n"
        ),
    );
}

#[test]
fn sub_tracking_files_are_combined() {
    let place = Place::new();
    sub_tracking(&place);
    let joined = ["sub-track", "combine", "--stf=all.csv", "-p", "one.csv", "-p", "two.csv"];
    assert_eq!(place.out(&joined), "");
    let expected = place.read("one.csv") + place.read("two.csv").strip_prefix(SUB_HEADER).expect("header");
    // Written as Python's csv module does, whatever the parts had.
    let expected = expected.replace('\n', "\r\n");
    assert_eq!(place.read("all.csv"), expected);
    assert_eq!(
        place.refused(&joined),
        "ERROR:root:Cannot create sub-tracking file all.csv. File already exists.\n"
    );
    // A single folder stands for its files.
    std::fs::create_dir(place.path("parts")).expect("folder");
    for name in ["one.csv", "two.csv"] {
        std::fs::copy(place.path(name), place.path(&format!("parts/{name}"))).expect("copy");
    }
    place.out(&["sub-track", "combine", "--stf", "again.csv", "-p", "parts"]);
    assert_eq!(place.read("again.csv"), expected);
    assert_eq!(
        place.refused(&["sub-track", "combine", "--stf=all.sqlite", "-p", "one.csv", "-p", "two.csv"]),
        "ERROR:root:File one.csv does not end with the same extension as all.sqlite. Must end in \".sqlite\".\n"
    );
    place.write("bad.csv", "a,b\n1,2\n");
    assert!(
        place
            .refused(&["sub-track", "combine", "--stf=x.csv", "-p", "bad.csv"])
            .contains("must begin with the header")
    );
}

#[test]
fn an_analysis_has_the_statistics_of_each_block() {
    let place = Place::new();
    sub_tracking(&place);
    place.out(&["sub-track", "combine", "--stf=all.csv", "-p", "one.csv", "-p", "two.csv"]);
    let analyze = ["sub-track", "analyze", "--tf=t.csv", "--stf=all.csv"];
    let out = place.out(&analyze);
    let overall = "Overall:\n\t                                              min   max  mean   std\n\
        \tmain_ram                                     0.25   0.5 0.375 0.125\n\
        \tdescendants_ram                               0.5   0.5   0.5   0.0\n";
    assert!(out.starts_with(overall), "{out}");
    let fixed = "Static Data:\n\t   ram_unit gpu_ram_unit time_unit ram_system_capacity gpu_ram_system_capacity \
        system_core_count n_expected_cores system_gpu_count n_expected_gpus\n\
        \t  gigabytes    gigabytes     hours         25.27479398                     0.0                 2                \
        2                0               0\nCode Block Results:\n";
    assert!(out.contains(fixed), "{out}");
    let block = "\tName:                main.py:10\n\tNum Timepoints:      1\n\tNum Calls:           2\n\
        \tNum Non Empty Calls: 1\n\tCompute Time:\n\t\t  min  max  mean  std  total\n\t\t  0.1  1.0  0.55 0.45    1.1\n";
    assert!(out.contains(block), "{out}");
    let idle = "\tResource Usage:\n\t\t                                              min  max  mean  std\n\
        \t\tmain_ram                                      NaN  NaN   NaN  NaN\n";
    assert!(out.contains(idle), "{out}");
    assert!(out.ends_with("NaN\n\n\n") || out.ends_with("0.0\n\n\n"), "{out}");
    let json = place.out(&[&analyze[..], &["-f", "json"]].concat());
    assert!(json.starts_with("{\n \"overall\": {\n  \"main_ram\": {\n   \"min\": 0.25,\n"), "{json}");
    let shown = place.python(&format!(
        "import json; d = json.loads({json:?}); b = d['code_block_results']; print([x['name'] for x in b])\n\
         print([(x['num_timepoints'], x['num_calls'], x['num_non_empty_calls'], x['compute_time']['total']) for x in b])"
    ));
    assert_eq!(
        shown,
        "['a, block', 'idle', 'main.py:10']\n[(2, 1, 1, 2.0), (0, 1, 0, 1.5), (1, 2, 1, 1.0999999999999996)]\n"
    );
    assert!(
        place
            .refused(&["sub-track", "analyze", "--tf=one.csv", "--stf=all.csv"])
            .contains("has no static data")
    );
    assert!(
        place
            .refused(&["sub-track", "analyze", "--tf=no.csv", "--stf=all.csv"])
            .contains("cannot read no.csv")
    );
    assert!(
        place
            .refused(&["sub-track", "analyze", "--tf=no.sqlite", "--stf=all.csv"])
            .contains("cannot read no.sqlite: No such file")
    );
}

#[test]
fn sessions_are_compared() {
    let place = Place::new();
    sub_tracking(&place);
    place.out(&["sub-track", "combine", "--stf=all.csv", "-p", "one.csv", "-p", "two.csv"]);
    place.out(&["sub-track", "analyze", "--tf=t.csv", "--stf=all.csv", "-f", "pickle", "-o", "a.pkl"]);
    // The second session is smaller, and its block moved by two lines.
    place.write("t2.csv", &place.read("t.csv").replace("\r\n0.25,", "\r\n0.125,"));
    place.write("all2.csv", &place.read("all.csv").replace("main.py:10", "main.py:12"));
    place.out(&["sub-track", "analyze", "--tf=t2.csv", "--stf=all2.csv", "-f", "pickle", "-o", "b.pkl"]);
    let output = place.run(&["sub-track", "compare", "-m", "A=a.pkl", "-m", "B=b.pkl", "--stat=min"]);
    assert_eq!(output.status.code(), Some(0));
    let warning = text(&output.stderr);
    assert!(
        warning.starts_with("WARNING:root:Code block name \"main.py:10\" of tracking session \"A\" matched"),
        "{warning}"
    );
    let out = text(&output.stdout);
    assert!(
        out.starts_with("Overall Resource Usage:\n\tMain Ram:\n\t\t     B    A\n\t\t 0.125 0.25\n"),
        "{out}"
    );
    assert!(out.contains("\t\tmain.py:10 -> main.py:12:\n\t\t\t     B    A\n\t\t\t 0.125 0.25\n"), "{out}");
    assert!(out.contains("Code Block Compute Time:\n\ta, block:\n\t\t   A   B\n\t\t 2.0 2.0\n"), "{out}");
    place.write("c.json", r#"{"file_path_map": {"Z": "a.pkl", "A": "a.pkl"}, "statistic": "max"}"#);
    let json = place.out(&["sub-track", "compare", "--cconfig=c.json", "-m", "M=a.pkl", "-f", "json"]);
    let head = "{\n \"overall_resource_usage\": {\n  \"main_ram\": {\n   \"Z\": 0.5,\n   \"A\": 0.5,\n   \"M\": 0.5\n  },\n";
    assert!(json.starts_with(head), "{json}");
    for (words, expected) in [
        (
            &[][..],
            "A mapping of tracking session name to file path must be provided either through the -m option or a config file.",
        ),
        (
            &["-m", "A=a.pkl", "--stat=foo"],
            "Invalid summary statistic 'foo'. Valid values are min max mean std.",
        ),
        (&["-m", "a.pkl"], "\"a.pkl\" is not a session; write <name>=<file-path>."),
        (&["-m", "A=t.csv"], "t.csv is not a results file of this program: "),
        (&["-m", "A=none.pkl"], "cannot read none.pkl: "),
    ] {
        let error = place.refused(&[&["sub-track", "compare"][..], words].concat());
        assert!(error.starts_with(&format!("ERROR:root:{expected}")), "{error}");
    }
}

#[test]
fn databases_are_combined_and_analyzed_as_the_csv_files_are() {
    let place = Place::new();
    sub_tracking(&place);
    place.out(&["sub-track", "combine", "--stf=all.csv", "-p", "one.csv", "-p", "two.csv"]);
    place.python(
        "import csv, sqlite3\n\
         def put(name, table, lines):\n    \
             c = sqlite3.connect(name); c.execute(f\"create table {table} ({', '.join(lines[0])})\")\n    \
             for r in lines[1:]:\n        \
                 r = [int(v) if v.isdigit() else float(v) if v.replace('.', '').isdigit() else v for v in r]\n        \
                 c.execute(f\"insert into {table} values ({', '.join('?' * len(r))})\", r)\n    \
             c.commit()\n\
         for n in ('one', 'two'): put(n + '.sqlite', 'data', list(csv.reader(open(n + '.csv'))))\n\
         t = list(csv.reader(open('t.csv'))); put('t.sqlite', 'static_data', t[:2]); put('t.sqlite', 'data', t[2:])",
    );
    place.out(&["sub-track", "combine", "--stf=all.sqlite", "-p", "one.sqlite", "-p", "two.sqlite"]);
    let of_csv = place.out(&["sub-track", "analyze", "--tf=t.csv", "--stf=all.csv", "-f", "json"]);
    let of_sqlite = place.out(&["sub-track", "analyze", "--tf=t.sqlite", "--stf=all.sqlite", "-f", "json"]);
    assert_eq!(of_sqlite, of_csv);
}

#[test]
fn a_pickle_of_the_python_package_is_compared_too() {
    let place = Place::new();
    sub_tracking(&place);
    place.out(&["sub-track", "analyze", "--tf=t.csv", "--stf=one.csv", "-f", "pickle", "-o", "a.pkl"]);
    // Python reads what we wrote, and writes it again in each protocol.
    place.python(
        "import pickle\n\
         found = pickle.load(open('a.pkl', 'rb'))\n\
         for n in (2, 3, 4, 5): pickle.dump(found, open(f'p{n}.pkl', 'wb'), protocol=n)",
    );
    for protocol in 2..=5 {
        let ours = place.out(&["sub-track", "compare", "-m", "A=a.pkl", "-f", "json"]);
        let theirs = place.out(&["sub-track", "compare", "-m", &format!("A=p{protocol}.pkl"), "-f", "json"]);
        assert_eq!(ours, theirs, "protocol {protocol}");
    }
}
