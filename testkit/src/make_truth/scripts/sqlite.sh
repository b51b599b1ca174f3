# A database in one process, with its file on disk.
sqlite3 db.sqlite "create table t(id integer primary key, word text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 200000) insert into t select i, hex(i * 7919) from n;
create index w on t(word); select count(*) from t where word > '5';" > answer
