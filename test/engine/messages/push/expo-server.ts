import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ExpoMessage {
  to: string;
  title: string;
  body: string;
  ttl: number;
  data: Record<string, string>;
}

/** How the server answers: a ticket, a status, or never. */
type Answer = { ticket: object } | { status: number } | 'nothing';

export const OK: Answer = { ticket: { status: 'ok', id: 'receipt' } };
export const GONE: Answer = {
  ticket: { status: 'error', message: 'not registered', details: { error: 'DeviceNotRegistered' } },
};

/** A server that answers as Expo's push service does. `answer`: default: takes everything. */
export async function expoServer(
  answer: (message: ExpoMessage) => Answer = () => OK,
  receipts: (tickets: string[]) => Record<string, object> | Promise<Record<string, object>> = () => ({}),
) {
  const received: ExpoMessage[] = [];
  const server = createServer((request, response) => {
    void bodyOf(request).then(async (text) => {
      if (request.url === '/--/api/v2/push/getReceipts')
        return void response.end(JSON.stringify({ data: await receipts((JSON.parse(text) as { ids: string[] }).ids) }));
      const message = JSON.parse(text) as ExpoMessage;
      received.push(message);
      const answered = answer(message);
      if (answered === 'nothing') return;
      response.setHeader('Content-Type', 'application/json');
      if ('status' in answered) response.statusCode = answered.status;
      response.end(JSON.stringify('ticket' in answered ? { data: answered.ticket } : { errors: [] }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    received,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      }),
  };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) text += chunk as string;
  return text;
}
