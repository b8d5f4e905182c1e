// SPDX-License-Identifier: Apache-2.0

// Carts that share a stock; a goroutine reloads it from a slow source.  usage: cart PORT
package main

import (
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"
)

var (
	lock  sync.Mutex
	stock int
)

func reload() {
	for {
		time.Sleep(400 * time.Millisecond)
		lock.Lock()
		time.Sleep(100 * time.Millisecond) // the source
		stock = 1000
		lock.Unlock()
	}
}

func buy(w http.ResponseWriter, r *http.Request) {
	lock.Lock()
	stock--
	left := stock
	lock.Unlock()
	fmt.Fprintf(w, "left: %d\n", left)
}

func main() {
	go reload()
	http.HandleFunc("/", buy)
	if err := http.ListenAndServe("127.0.0.1:"+os.Args[1], nil); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
