import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request that a receiver got. */
export interface Received {
  path: string;
  headers: NodeJS.Dict<string | string[]>;
  body: string;
}

/** The answer to a request: a status, or any behaviour. */
export type Answer = number | ((request: Received, response: ServerResponse) => void);

/** Never answers. */
export const hang: Answer = () => undefined;
/** Breaks the connection. */
export const reset: Answer = (_request, response) => void response.socket?.resetAndDestroy();
/** Sends a header of the answer now and then, and never all of them. */
export const dripHead: Answer = (_request, response) => {
  response.socket?.write('HTTP/1.1 200 OK\r\n');
  drip(response, () => response.socket?.write('x-more: 1\r\n'));
};
/** Sends a byte of the body now and then, and never all of them. */
export const dripBody =
  (status: number): Answer =>
  (_request, response) => {
    response.writeHead(status);
    drip(response, () => response.write('.'));
  };

function drip(response: ServerResponse, more: () => void): void {
  more();
  const timer = setInterval(more, 20);
  response.once('close', () => clearInterval(timer));
}

/** A server that webhooks are sent to. It records its requests and answers by plan. */
export class Receiver {
  readonly received: Received[] = [];
  url = '';
  /** Answers a request by the plan in force at its arrival. */
  plan: (request: Received) => Answer = () => 200;
  private readonly server = createServer((request, response) => void this.take(request, response));

  static async start(plan?: (request: Received) => Answer): Promise<Receiver> {
    const receiver = new Receiver();
    if (plan !== undefined) receiver.plan = plan;
    await new Promise<void>((resolve) => receiver.server.listen(0, '127.0.0.1', resolve));
    receiver.url = `http://127.0.0.1:${(receiver.server.address() as AddressInfo).port}/`;
    return receiver;
  }

  get ids(): string[] {
    return this.received.map(({ headers }) => String(headers['webhook-id']));
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.server.close(resolve));
    this.server.closeAllConnections();
    await closed;
  }

  private async take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    } catch {
      // The sender went away in the middle: nothing came.
      return;
    }
    const got = { path: request.url!, headers: request.headers, body: Buffer.concat(chunks).toString() };
    this.received.push(got);
    const answer = this.plan(got);
    if (typeof answer === 'number') response.writeHead(answer).end();
    else answer(got, response);
  }
}
