import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * 'requests': does not pass the request on; 'late': passes it on when its sender is gone; 'replies': passes it on, but not
 * its reply.
 */
export type Cut = 'requests' | 'late' | 'replies';

interface Armed {
  what: Cut;
  when: (chunk: Buffer) => boolean;
  meanwhile: () => Promise<void> | void;
}

interface Link {
  client: Socket;
  upstream: Socket;
  /** Its next reply will be cut. */
  expecting: Armed | null;
  cut: boolean;
}

/** A proxy before a Redis or a Postgres that can delay its replies, and cut the connection in the middle of a call. */
export class CuttingProxy {
  private readonly server: Server;
  private readonly replyDelayMs: number;
  private readonly links = new Set<Link>();
  private target: URL;
  private armed: Armed | null = null;

  constructor(url: string, replyDelayMs = 0) {
    this.replyDelayMs = replyDelayMs;
    this.target = new URL(url);
    this.server = createServer((client) => this.link(client));
  }

  /** Listens on this port, by default a free one; returns the server's URL through the proxy. */
  async listen(port = 0): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(port, '127.0.0.1', resolve));
    const url = new URL(this.target.href);
    url.hostname = '127.0.0.1';
    url.port = String((this.server.address() as AddressInfo).port);
    return url.href;
  }

  /** The server has another address from now on: a restarted one has another port. */
  retarget(url: string): void {
    this.target = new URL(url);
  }

  /**
   * Cuts the next call whose request `when` accepts, then runs `meanwhile`, and closes that connection. All others continue. By
   * default, calls that only read users before they are changed are not cut.
   */
  cutNext(what: Cut, meanwhile: Armed['meanwhile'] = () => undefined, when: Armed['when'] = isNoRead): void {
    this.armed = { what, when, meanwhile };
  }

  /** Gives up waiting for a call to cut; false if it was cut already. */
  disarm(): boolean {
    const waiting = this.armed !== null;
    this.armed = null;
    return waiting;
  }

  /** Connections that are not closed on both sides. */
  get connections(): number {
    return this.links.size;
  }

  /** Breaks every connection. */
  cutAll(): void {
    for (const link of this.links) destroy(link);
  }

  close(): void {
    this.cutAll();
    this.server.close();
  }

  private link(client: Socket): void {
    const upstream = connect(Number(this.target.port), this.target.hostname);
    const link: Link = { client, upstream, expecting: null, cut: false };
    this.links.add(link);
    for (const socket of [client, upstream]) {
      socket.setNoDelay(true);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        if (!link.cut) destroy(link);
        if (client.closed && upstream.closed) this.links.delete(link);
      });
    }
    client.on('data', (chunk: Buffer) => this.request(link, chunk));
    upstream.on('data', (chunk: Buffer) => this.reply(link, chunk));
  }

  private request(link: Link, chunk: Buffer): void {
    if (link.cut) return;
    const { armed } = this;
    if (armed?.when(chunk) === true) {
      this.armed = null;
      if (armed.what === 'late') return late(link, armed, chunk);
      if (armed.what === 'requests') return cut(link, armed);
      link.expecting = armed;
    }
    link.upstream.write(chunk);
  }

  private reply(link: Link, chunk: Buffer): void {
    if (link.cut) return;
    if (link.expecting !== null) return cut(link, link.expecting);
    if (this.replyDelayMs > 0) void sleep(this.replyDelayMs).then(() => link.client.write(chunk));
    else link.client.write(chunk);
  }
}

const isNoRead = (chunk: Buffer): boolean => !chunk.includes('laurel_read_');

function cut(link: Link, { meanwhile }: Armed): void {
  link.cut = true;
  void Promise.resolve()
    .then(meanwhile)
    .finally(() => destroy(link));
}

/** The sender sees its connection break; its request arrives after `meanwhile`. */
function late(link: Link, { meanwhile }: Armed, chunk: Buffer): void {
  link.cut = true;
  link.client.destroy();
  void Promise.resolve()
    .then(meanwhile)
    .finally(() => link.upstream.end(chunk));
}

function destroy({ client, upstream }: Link): void {
  client.destroy();
  upstream.destroy();
}
