// SPDX-License-Identifier: Apache-2.0

// Offers of several suppliers, which are asked at the same time.  usage: offers PORT SUPPLIER...
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
)

var client = http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}

func ask(supplier string) int {
	reply, err := client.Get("http://127.0.0.1:" + supplier + "/offer")
	if err != nil {
		return 0
	}
	defer reply.Body.Close()
	body, _ := io.ReadAll(reply.Body)
	return len(body)
}

func list(w http.ResponseWriter, r *http.Request) {
	suppliers := os.Args[2:]
	sizes := make([]int, len(suppliers))
	var all sync.WaitGroup
	for i, supplier := range suppliers {
		all.Add(1)
		go func(size *int, supplier string) {
			defer all.Done()
			*size = ask(supplier)
		}(&sizes[i], supplier)
	}
	all.Wait()
	fmt.Fprintln(w, "offers:", sizes)
}

func main() {
	http.HandleFunc("/", list)
	if err := http.ListenAndServe("127.0.0.1:"+os.Args[1], nil); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
