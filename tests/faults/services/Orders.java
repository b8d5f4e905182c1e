// SPDX-License-Identifier: Apache-2.0
// Orders that share one stock; a thread reloads it from a slow source.  usage: Orders PORT
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.Executors;

public class Orders {
    static final Map<String, Integer> stock = new HashMap<>();

    static void reload() {
        try {
            for (;;) {
                Thread.sleep(500);
                synchronized (stock) {
                    Thread.sleep(120); // the source
                    stock.put("tea", 1000);
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    static void order(HttpExchange exchange) throws IOException {
        byte[] body;
        synchronized (stock) {
            body = ("left: " + stock.merge("tea", -1, Integer::sum) + "\n").getBytes();
        }
        exchange.sendResponseHeaders(200, body.length);
        exchange.getResponseBody().write(body);
        exchange.close();
    }

    public static void main(String[] args) throws IOException {
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(args[0])), 128);
        server.createContext("/", Orders::order);
        server.setExecutor(Executors.newFixedThreadPool(8));
        server.start();
        new Thread(Orders::reload, "reload").start();
    }
}
