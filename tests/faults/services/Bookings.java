// SPDX-License-Identifier: Apache-2.0
// Bookings in a store that is called on two connections; a report uses them, too.  usage: Bookings PORT STORE
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Executors;

public class Bookings {
    static final int CONNECTIONS = 2;
    static final BlockingQueue<Socket> pool = new ArrayBlockingQueue<>(CONNECTIONS);
    static final byte[] QUERY = "GET /bookings HTTP/1.1\r\nHost: store\r\n\r\n".getBytes();
    static volatile double result;

    static int query(Socket connection) throws IOException {
        connection.getOutputStream().write(QUERY);
        return connection.getInputStream().read(new byte[1024]);
    }

    static void layOut(long milliseconds) {
        double sum = 0;
        long end = System.nanoTime() + milliseconds * 1_000_000;
        while (System.nanoTime() < end)
            for (int i = 0; i < 1000; i++)
                sum += Math.sqrt(i);
        result = sum;
    }

    // Gives the connections back only after the pages are laid out.
    static void report() {
        try {
            for (;;) {
                Thread.sleep(400);
                Socket first = pool.take(), second = pool.take();
                query(first);
                query(second);
                layOut(100);
                pool.put(first);
                pool.put(second);
            }
        } catch (InterruptedException | IOException e) {
            e.printStackTrace();
            System.exit(1);
        }
    }

    static void book(HttpExchange exchange) throws IOException {
        try {
            Socket connection = pool.take();
            byte[] body;
            try {
                body = ("booked: " + query(connection) + "\n").getBytes();
            } finally {
                pool.put(connection);
            }
            exchange.sendResponseHeaders(200, body.length);
            exchange.getResponseBody().write(body);
        } catch (InterruptedException e) {
            exchange.sendResponseHeaders(500, -1);
        }
        exchange.close();
    }

    static void connect(int store) throws IOException {
        for (int i = 0; i < CONNECTIONS; i++) {
            Socket connection = new Socket("127.0.0.1", store);
            connection.setTcpNoDelay(true);
            pool.add(connection);
        }
    }

    public static void main(String[] args) throws IOException {
        connect(Integer.parseInt(args[1]));
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(args[0])), 128);
        server.createContext("/", Bookings::book);
        server.setExecutor(Executors.newFixedThreadPool(8));
        server.start();
        new Thread(Bookings::report, "report").start();
    }
}
