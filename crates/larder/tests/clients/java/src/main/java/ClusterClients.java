import io.lettuce.core.cluster.RedisClusterClient;
import java.util.List;
import java.util.Map;
import java.util.Set;
import redis.clients.jedis.HostAndPort;

/** jedis and lettuce in a cluster, while slots move. Usage: ClusterClients NAME PORT SECONDS */
public final class ClusterClients {
  private interface Cache {
    String get(String key);

    String set(String key, String value);

    String mset(Map<String, String> pairs);
  }

  private static void check(boolean right, Object... what) {
    if (!right) {
      throw new AssertionError(java.util.Arrays.toString(what));
    }
  }

  private static void play(String name, double seconds, Cache cache) {
    long end = System.nanoTime() + (long) (seconds * 1e9);
    int hits = 0;
    // A busy machine needs more time for as many hits.
    for (int turn = 1; System.nanoTime() < end || hits <= 200; turn++) {
      check(System.nanoTime() < end + 60_000_000_000L, "hits", hits);
      String key = name + ":" + turn % 300;
      String value = cache.get(key);
      check(value == null || value.equals("v" + key), key, value);
      if (value == null) {
        check("OK".equals(cache.set(key, "v" + key)), "set", key);
      } else {
        hits++;
      }
      if (turn % 50 == 0) {
        check("OK".equals(cache.mset(Map.of("{j}1", "1", "{j}2", "2"))), "mset");
      }
    }
    System.out.println(name);
  }

  public static void main(String[] args) {
    int port = Integer.parseInt(args[1]);
    double seconds = Double.parseDouble(args[2]);
    if (args[0].equals("jedis")) {
      var nodes = Set.of(new HostAndPort("127.0.0.1", port));
      try (var jedis = redis.clients.jedis.RedisClusterClient.builder().nodes(nodes).build()) {
        play("jedis", seconds, new Cache() {
          public String get(String key) {
            return jedis.get(key);
          }

          public String set(String key, String value) {
            return jedis.set(key, value);
          }

          public String mset(Map<String, String> pairs) {
            return jedis.mset(pairs.entrySet().stream()
                .flatMap(pair -> List.of(pair.getKey(), pair.getValue()).stream())
                .toArray(String[]::new));
          }
        });
      }
    } else {
      var client = RedisClusterClient.create("redis://127.0.0.1:" + port);
      try (var connection = client.connect()) {
        var commands = connection.sync();
        play("lettuce", seconds, new Cache() {
          public String get(String key) {
            return commands.get(key);
          }

          public String set(String key, String value) {
            return commands.set(key, value);
          }

          public String mset(Map<String, String> pairs) {
            return commands.mset(pairs);
          }
        });
      }
      client.shutdown();
    }
    System.exit(0);
  }
}
