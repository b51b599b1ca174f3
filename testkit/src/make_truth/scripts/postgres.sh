# A database server: made, filled, asked by three clients, stopped. It refuses to run as root.
as=
if [ "$(id -u)" = 0 ]; then
    chown 65534:65534 .
    as="setpriv --reuid=65534 --regid=65534 --clear-groups"
fi
bin=$(dirname "$(readlink -f "$(command -v postgres)")")
$as "$bin/initdb" -D db -A trust -U truth --no-sync > initdb.out 2>&1
printf "listen_addresses = ''\nunix_socket_directories = '%s'\nfsync = off\n" "$PWD" >> db/postgresql.conf
$as "$bin/pg_ctl" -D db -l server.log -w -s start
$as "$bin/psql" -q -h "$PWD" -U truth postgres -c "create table t as select g as id, md5(g::text) as word from generate_series(1, 200000) g"
for client in 1 2 3; do
    $as "$bin/psql" -q -h "$PWD" -U truth postgres -c "select count(*), max(word) from t join t u using (word) where t.id % 3 <> $client" > answer$client &
    clients="$clients $!"
done
for client in $clients; do wait "$client"; done
$as "$bin/pg_ctl" -D db -w -s -m fast stop
