# 40,000 short threads in one process.
"$TESTKIT" churn 40000
