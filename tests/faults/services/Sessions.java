// SPDX-License-Identifier: Apache-2.0
// Sessions of users, all kept in the heap.  usage: Sessions PORT
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadLocalRandom;

public class Sessions {
    static final int USERS = 120_000, LOGINS = 2_500;
    static final ConcurrentHashMap<Integer, String[]> sessions = new ConcurrentHashMap<>();

    static String[] session() {
        String[] words = new String[8];
        for (int i = 0; i < words.length; i++)
            words[i] = Integer.toHexString(ThreadLocalRandom.current().nextInt());
        return words;
    }

    static void login(HttpExchange exchange) throws IOException {
        for (int i = 0; i < LOGINS; i++)
            sessions.put(ThreadLocalRandom.current().nextInt(USERS), session());
        byte[] body = "ok\n".getBytes();
        exchange.sendResponseHeaders(200, body.length);
        exchange.getResponseBody().write(body);
        exchange.close();
    }

    public static void main(String[] args) throws IOException {
        for (int user = 0; user < USERS; user++)
            sessions.put(user, session());
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(args[0])), 128);
        server.createContext("/", Sessions::login);
        server.setExecutor(Executors.newFixedThreadPool(8));
        server.start();
    }
}
