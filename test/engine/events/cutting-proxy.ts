import { connect, createServer, type Server, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';

/** A proxy before a Redis that can cut the connection in the middle of a call. */
export class CuttingProxy {
  private readonly server: Server;
  private readonly sockets = new Set<Socket>();
  /** 'replies': requests go through, their replies do not; 'requests': nothing goes through. */
  private cutting: 'no' | 'replies' | 'requests' = 'no';
  private onCut: (() => Promise<void>) | null = null;

  constructor(redisUrl: string) {
    const target = new URL(redisUrl);
    this.server = createServer((client) => {
      const upstream = connect(Number(target.port), target.hostname);
      for (const socket of [client, upstream]) {
        this.sockets.add(socket);
        socket.on('close', () => this.sockets.delete(socket));
        socket.on('error', () => undefined);
      }
      client.on('data', (chunk) => {
        if (this.cutting === 'requests') return void this.cut(client, upstream);
        return upstream.write(chunk);
      });
      upstream.on('data', (chunk) => {
        if (this.cutting === 'replies') return void this.cut(client, upstream);
        return client.write(chunk);
      });
      client.on('close', () => upstream.destroy());
      upstream.on('close', () => client.destroy());
    });
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return `redis://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Cuts the next call, then does `then`, and lets everything through again. */
  cutNext(what: 'replies' | 'requests', then: () => Promise<void> = async () => undefined): void {
    this.cutting = what;
    this.onCut = then;
  }

  private async cut(client: Socket, upstream: Socket): Promise<void> {
    const then = this.onCut;
    if (then === null) return;
    this.onCut = null;
    await then();
    this.cutting = 'no';
    client.destroy();
    upstream.destroy();
  }

  close(): void {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
  }
}
