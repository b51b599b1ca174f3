# A parent that ignores SIGCHLD: the kernel reaps its children into nobody's account.
$SIG{CHLD} = 'IGNORE';
for my $number (1 .. 12) {
    my $pid = fork();
    if ($pid == 0) {
        my $block = 'x' x 40_000_000;
        open(my $out, '>', "out$number") or die;
        print $out substr($block, 0, 1_000_000);
        close($out);
        exit($number);
    }
    waitpid($pid, 0) if $number % 2 == 0;
}
1 while wait() != -1;
