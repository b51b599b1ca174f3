# The same below a parent that ignores SIGCHLD: nobody is told what the children used.
$SIG{CHLD} = 'IGNORE';
(my $how = $ENV{TRUTH_JOB}) =~ s/^lost-//;
open(my $out, '>', 'block') or die;
print $out "\0" x 60_000_000;
close($out);
for (1 .. 5) {
    for (1 .. 2) {
        my $pid = fork();
        if ($pid == 0) {
            exec($ENV{TESTKIT}, 'grab', $how, '60M', '4', 'block');
        }
    }
    1 while wait() != -1;
}
open(my $truth, '>>', $ENV{TRUTH_FILE}) or die;
print $truth "combined.rss_bytes_max 60000000 275000000\n";
close($truth);
select(undef, undef, undef, 0.1);
