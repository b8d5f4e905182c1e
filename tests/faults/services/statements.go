// SPDX-License-Identifier: Apache-2.0

// Balances; the statements of six accounts are signed now and then.  usage: statements PORT
package main

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"
)

const (
	accounts = 6
	rounds   = 200000
)

func sign(account int) [32]byte {
	sum := sha256.Sum256([]byte{byte(account)})
	for i := 0; i < rounds; i++ {
		sum = sha256.Sum256(sum[:])
	}
	return sum
}

func signAll() {
	for {
		time.Sleep(400 * time.Millisecond)
		var all sync.WaitGroup
		for account := 0; account < accounts; account++ {
			all.Add(1)
			go func(account int) {
				defer all.Done()
				sign(account)
			}(account)
		}
		all.Wait()
	}
}

func balance(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintln(w, "balance: 42")
}

func main() {
	go signAll()
	http.HandleFunc("/", balance)
	if err := http.ListenAndServe("127.0.0.1:"+os.Args[1], nil); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
