package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// go-redis' ClusterClient with its default settings, while slots move.
func cluster(port, seconds string) {
	ctx := context.Background()
	length, err := strconv.ParseFloat(seconds, 64)
	check(err == nil, "seconds", err)
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"127.0.0.1:" + port}})
	defer client.Close()
	end := time.Now().Add(time.Duration(length * float64(time.Second)))
	hits := 0
	// A busy machine needs more time for as many hits.
	for turn := 0; time.Now().Before(end) || hits <= 200; turn++ {
		check(time.Now().Before(end.Add(time.Minute)), "hits", hits)
		key := fmt.Sprintf("go:%d", turn%300)
		value, err := client.Get(ctx, key).Result()
		check(err == nil || errors.Is(err, redis.Nil), "get", key, err)
		if err == nil {
			check(value == "v"+key, key, value)
			hits++
		} else {
			check(client.Set(ctx, key, "v"+key, 100*time.Second).Err() == nil, "set", key)
		}
		if turn%50 == 0 {
			check(client.MSet(ctx, "{go}1", 1, "{go}2", 2).Err() == nil, "mset")
			cmds, err := client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
				for at := range 20 {
					pipe.Get(ctx, fmt.Sprintf("go:%d", at))
				}
				return nil
			})
			check(len(cmds) == 20 && (err == nil || errors.Is(err, redis.Nil)), "pipeline", err)
			_, err = client.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
				pipe.Set(ctx, "{tx}1", 1, 0)
				pipe.Incr(ctx, "{tx}1")
				return nil
			})
			check(err == nil, "transaction", err)
		}
	}
}
