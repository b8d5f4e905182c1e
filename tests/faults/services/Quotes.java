// SPDX-License-Identifier: Apache-2.0
// Quotes: two threads compute the prices of all requests.  usage: Quotes PORT
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;

public class Quotes {
    static final AtomicInteger threads = new AtomicInteger();
    static final ExecutorService pricing =
            Executors.newFixedThreadPool(2, task -> new Thread(task, "pricing-" + threads.incrementAndGet()));

    static int price() throws InterruptedException {
        Thread.sleep(30); // a vendor's library
        return 42;
    }

    static void quote(HttpExchange exchange) throws IOException {
        try {
            byte[] body = ("price: " + pricing.submit(Quotes::price).get() + "\n").getBytes();
            exchange.sendResponseHeaders(200, body.length);
            exchange.getResponseBody().write(body);
        } catch (InterruptedException | ExecutionException e) {
            exchange.sendResponseHeaders(500, -1);
        }
        exchange.close();
    }

    public static void main(String[] args) throws IOException {
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(args[0])), 128);
        server.createContext("/", Quotes::quote);
        server.setExecutor(Executors.newCachedThreadPool());
        server.start();
    }
}
