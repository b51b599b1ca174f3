# A Java program that keeps 60 MB and makes a lot of garbage.
cat > Work.java <<'JAVA'
public class Work {
    public static void main(String[] arguments) {
        byte[][] kept = new byte[60][];
        for (int i = 0; i < 60; i++) {
            kept[i] = new byte[1_000_000];
            kept[i][i] = 1;
        }
        long sum = 0;
        for (int i = 0; i < 3_000; i++) {
            byte[] garbage = new byte[100_000];
            garbage[i] = 1;
            sum += garbage[i] + kept[i % 60][0];
        }
        System.out.println(sum);
    }
}
JAVA
java -Xmx256m Work.java > answer
