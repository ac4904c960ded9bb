import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;

/** Get client|connection URL. */
public class Get {
    public static void main(String[] words) throws Exception {
        URI url = URI.create(words[1]);
        if (words[0].equals("client")) {
            HttpClient client = HttpClient.newHttpClient();
            HttpRequest request = HttpRequest.newBuilder(url).build();
            System.out.print(client.send(request, HttpResponse.BodyHandlers.ofString()).body());
            return;
        }
        HttpURLConnection connection = (HttpURLConnection) url.toURL().openConnection();
        try (InputStream in = connection.getInputStream()) {
            System.out.print(new String(in.readAllBytes()));
        }
    }
}
