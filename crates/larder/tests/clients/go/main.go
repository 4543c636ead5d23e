// go-redis and gomemcache with their default settings.
// Usage: clients PORT MEMCACHED_PORT OPERATIONS, or clients cluster PORT SECONDS
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strconv"

	"github.com/bradfitz/gomemcache/memcache"
	"github.com/redis/go-redis/v9"
)

func check(ok bool, what ...any) {
	if !ok {
		fmt.Fprintln(os.Stderr, what...)
		os.Exit(1)
	}
}

// What a reply is in the words of the list.
func plain(reply any) any {
	switch reply := reply.(type) {
	case int64:
		return float64(reply)
	case []any:
		all := make([]any, len(reply))
		for i, one := range reply {
			all[i] = plain(one)
		}
		return all
	case map[any]any:
		all := map[string]any{}
		for name, one := range reply {
			all[name.(string)] = plain(one)
		}
		return all
	}
	return reply
}

func operations(port, path string) {
	text, err := os.ReadFile(path)
	check(err == nil, err)
	var list [][2]any
	check(json.Unmarshal(text, &list) == nil, "the list")
	ctx := context.Background()
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + port})
	conn := client.Conn()
	defer conn.Close()
	for _, entry := range list {
		args := entry[0].([]any)
		reply, err := conn.Do(ctx, args...).Result()
		check(err == nil || errors.Is(err, redis.Nil), args, err)
		if f, isFloat := reply.(float64); isFloat {
			reply = strconv.FormatFloat(f, 'f', -1, 64)
		}
		check(reflect.DeepEqual(plain(reply), entry[1]), args, reply, entry[1])
	}
	cmds, err := client.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
		pipe.Set(ctx, "tx", 1, 0)
		pipe.Incr(ctx, "tx")
		return nil
	})
	check(err == nil && len(cmds) == 2, "transaction", err)
	check(client.Info(ctx).Err() == nil, "info")
	iter, seen := client.Scan(ctx, 0, "*", 10).Iterator(), 0
	for iter.Next(ctx) {
		seen++
	}
	check(seen == 1, "scan", seen)
}

func memcached(port string) {
	client := memcache.New("127.0.0.1:" + port)
	check(client.FlushAll() == nil, "flush")
	check(client.Set(&memcache.Item{Key: "a", Value: []byte("1"), Flags: 9, Expiration: 60}) == nil, "set")
	item, err := client.Get("a")
	check(err == nil && string(item.Value) == "1" && item.Flags == 9, "get", err)
	item.Value = []byte("2")
	check(client.CompareAndSwap(item) == nil, "cas")
	check(errors.Is(client.CompareAndSwap(item), memcache.ErrCASConflict), "conflict")
	sum, err := client.Increment("a", 5)
	check(err == nil && sum == 7, "incr", err)
	check(errors.Is(client.Add(&memcache.Item{Key: "a"}), memcache.ErrNotStored), "add")
	_, err = client.Get("nosuch")
	check(errors.Is(err, memcache.ErrCacheMiss), "miss")
	check(client.Touch("a", 10) == nil && client.Delete("a") == nil, "touch, delete")
	all, err := client.GetMulti([]string{"a", "b"})
	check(err == nil && len(all) == 0, "multi", err)
	check(client.Ping() == nil, "ping")
}

func main() {
	if os.Args[1] == "cluster" {
		cluster(os.Args[2], os.Args[3])
		return
	}
	operations(os.Args[1], os.Args[3])
	memcached(os.Args[2])
}
