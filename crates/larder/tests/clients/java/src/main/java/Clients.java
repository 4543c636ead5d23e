import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonParser;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.ProtocolKeyword;
import io.lettuce.core.output.NestedMultiOutput;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import net.rubyeye.xmemcached.XMemcachedClient;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.RedisProtocol;
import redis.clients.jedis.util.KeyValue;

/** jedis, lettuce and xmemcached. Usage: Clients PORT MEMCACHED_PORT OPERATIONS */
public final class Clients {
  private static void check(boolean right, Object... what) {
    if (!right) {
      throw new AssertionError(java.util.Arrays.toString(what));
    }
  }

  /** What a reply is in the words of the list, where the list has {@code expected}. */
  private static Object plain(Object reply, JsonElement expected) {
    if (reply instanceof byte[] bytes) {
      return new String(bytes, StandardCharsets.UTF_8);
    }
    if (reply instanceof List<?> list) {
      List<Object> all = new ArrayList<>();
      for (Object one : list) {
        if (one instanceof KeyValue<?, ?> pair) {
          all.add(plain(pair.getKey(), null));
          all.add(plain(pair.getValue(), null));
        } else {
          all.add(plain(one, null));
        }
      }
      if (expected != null && expected.isJsonObject()) {
        Map<Object, Object> map = new LinkedHashMap<>();
        for (int at = 0; at + 1 < all.size(); at += 2) {
          map.put(all.get(at), all.get(at + 1));
        }
        return map;
      }
      return all;
    }
    boolean text = expected != null && expected.isJsonPrimitive()
        && expected.getAsJsonPrimitive().isString();
    return text && reply instanceof Double ? reply.toString() : reply;
  }

  private static Object wanted(JsonElement expected) {
    if (expected.isJsonNull()) {
      return null;
    }
    if (expected.isJsonArray()) {
      List<Object> all = new ArrayList<>();
      expected.getAsJsonArray().forEach(one -> all.add(wanted(one)));
      return all;
    }
    if (expected.isJsonObject()) {
      Map<Object, Object> map = new LinkedHashMap<>();
      expected.getAsJsonObject().entrySet()
          .forEach(entry -> map.put(entry.getKey(), wanted(entry.getValue())));
      return map;
    }
    return expected.getAsJsonPrimitive().isNumber()
        ? (Object) expected.getAsLong() : expected.getAsString();
  }

  private interface Caller {
    /** The reply, a list where {@code many} are expected. */
    Object call(String[] args, boolean many) throws Exception;
  }

  private static void operations(String name, JsonArray list, Caller caller) throws Exception {
    for (JsonElement entry : list) {
      JsonArray words = entry.getAsJsonArray().get(0).getAsJsonArray();
      String[] args = new String[words.size()];
      for (int at = 0; at < args.length; at++) {
        args[at] = words.get(at).getAsString();
      }
      JsonElement expected = entry.getAsJsonArray().get(1);
      boolean many = expected.isJsonArray() || expected.isJsonObject();
      Object reply = plain(caller.call(args, many), expected);
      Object want = wanted(expected);
      check(java.util.Objects.equals(reply, want), name, String.join(" ", args), reply, want);
    }
    System.out.println(name);
  }

  private static void jedis(int port, JsonArray list, RedisProtocol protocol) throws Exception {
    var config = DefaultJedisClientConfig.builder().protocol(protocol).build();
    try (Jedis client = new Jedis(new HostAndPort("127.0.0.1", port), config)) {
      operations("jedis " + protocol, list, (args, many) -> {
        String[] rest = java.util.Arrays.copyOfRange(args, 1, args.length);
        return client.sendCommand(() -> args[0].getBytes(StandardCharsets.UTF_8), rest);
      });
      var transaction = client.multi();
      transaction.set("tx", "1");
      transaction.incr("tx");
      check(transaction.exec().equals(List.of("OK", 2L)), "transaction");
      check(client.scan("0").getResult().equals(List.of("tx")), "scan");
      check(client.info("server").contains("redis_version"), "info");
    }
  }

  private static void pooledJedis(int port) {
    try (var client = redis.clients.jedis.RedisClient.create("127.0.0.1", port)) {
      check("OK".equals(client.set("pooled", "v")) && "v".equals(client.get("pooled")), "pooled");
      check(client.del("pooled") == 1, "pooled");
    }
    System.out.println("jedis, pooled");
  }

  private static void lettuce(int port, JsonArray list) throws Exception {
    RedisClient client = RedisClient.create(RedisURI.create("127.0.0.1", port));
    try (var connection = client.connect()) {
      var commands = connection.sync();
      operations("lettuce", list, (args, many) -> {
        var rest = new CommandArgs<>(StringCodec.UTF8);
        for (int at = 1; at < args.length; at++) {
          rest.add(args[at]);
        }
        ProtocolKeyword word = new ProtocolKeyword() {
          @Override
          public byte[] getBytes() {
            return args[0].getBytes(StandardCharsets.US_ASCII);
          }

          @Override
          public String toString() {
            return args[0];
          }
        };
        var output = new NestedMultiOutput<>(StringCodec.UTF8);
        List<Object> reply = commands.dispatch(word, output, rest);
        return many ? reply : reply.isEmpty() ? null : reply.get(0);
      });
      check("OK".equals(commands.multi()), "multi");
      commands.set("tx", "1");
      commands.incr("tx");
      var done = commands.exec();
      check(done.size() == 2 && done.get(1).equals(2L), "transaction");
    }
    client.shutdown();
  }

  private static void memcached(int port) throws Exception {
    var client = new XMemcachedClient("127.0.0.1", port);
    check(client.set("a", 60, "1"), "set");
    check("1".equals(client.get("a")), "get");
    check(!client.add("a", 60, "2"), "add");
    check(client.append("a", "2"), "append");
    check(client.incr("a", 5) == 17, "incr");
    var item = client.gets("a");
    check(client.cas("a", 60, "b", item.getCas()), "cas");
    check(!client.cas("a", 60, "c", item.getCas()), "conflict");
    check(client.get(List.of("a", "nosuch")).equals(Map.of("a", "b")), "multi");
    check(client.touch("a", 10) && client.delete("a") && client.get("a") == null, "delete");
    check(!client.getStats().isEmpty(), "stats");
    client.shutdown();
    System.out.println("xmemcached");
  }

  public static void main(String[] args) throws Exception {
    int port = Integer.parseInt(args[0]);
    JsonArray list = JsonParser.parseString(Files.readString(Path.of(args[2]))).getAsJsonArray();
    jedis(port, list, RedisProtocol.RESP3);
    jedis(port, list, RedisProtocol.RESP2);
    pooledJedis(port);
    lettuce(port, list);
    memcached(Integer.parseInt(args[1]));
    System.exit(0);
  }
}
