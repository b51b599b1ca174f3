# Known bytes: 20 MB written past the cache, 8 MB through it; 20 MB read past it, 8 MB from it.
dd if=/dev/zero of=direct bs=1M count=20 oflag=direct 2> /dev/null
dd if=/dev/zero of=cached bs=1M count=8 2> /dev/null
dd if=direct of=/dev/null bs=1M iflag=direct 2> /dev/null
dd if=cached of=/dev/null bs=1M 2> /dev/null
sleep 0.2
echo "combined.write_storage_bytes 29360128 29900000" >> "$TRUTH_FILE"
echo "combined.read_storage_bytes 20971520 -" >> "$TRUTH_FILE"
