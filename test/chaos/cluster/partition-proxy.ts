import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** The peer of a connection to a Redis. A replica names its port. */
export type Peer = { kind: 'client' | 'sentinel' } | { kind: 'replica'; port: number | null };

interface Link {
  client: Socket;
  upstream: Socket;
  /** `null` until it has sent something that identifies it. */
  peer: Peer | null;
  /** Bytes that arrived over a severed link and were not passed on. */
  held: Buffer[];
}

/**
 * The address of a Redis that can be cut off from some of its peers like a network partition: nothing is refused and no
 * connection breaks, but no byte passes either way until it is mended.
 */
export class PartitionProxy {
  private readonly target: number;
  private readonly server: Server;
  private readonly links = new Set<Link>();
  private isSevered: (peer: Peer) => boolean = () => false;

  /** `target`: the port that the Redis listens on. */
  constructor(target: number) {
    this.target = target;
    this.server = createServer((client) => this.link(client));
  }

  /** Listens; returns the port by which the Redis is known to all others. */
  async listen(): Promise<number> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return (this.server.address() as AddressInfo).port;
  }

  /** From now on nothing passes to and from those peers, and their new connections get no answer. */
  sever(which: (peer: Peer) => boolean): void {
    this.isSevered = which;
    for (const link of this.links) this.hold(link);
  }

  /** Lets everything pass again, including what waited. */
  mend(): void {
    this.isSevered = () => false;
    for (const link of this.links) {
      for (const chunk of link.held.splice(0)) link.upstream.write(chunk);
      link.client.resume();
      link.upstream.resume();
    }
  }

  /** Breaks the connections of all clients. */
  cutClients(): void {
    for (const link of this.links) if (link.peer?.kind === 'client') destroy(link);
  }

  close(): void {
    for (const link of this.links) destroy(link);
    this.server.close();
  }

  private link(client: Socket): void {
    const upstream = connect(this.target, '127.0.0.1');
    const link: Link = { client, upstream, peer: null, held: [] };
    this.links.add(link);
    for (const socket of [client, upstream]) {
      socket.setNoDelay(true);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        destroy(link);
        this.links.delete(link);
      });
    }
    client.on('data', (chunk: Buffer) => {
      const before = link.peer;
      link.peer = peerAfter(before, chunk);
      if (link.peer !== before) this.hold(link);
      if (this.isHeld(link)) link.held.push(chunk);
      else upstream.write(chunk);
    });
    upstream.on('data', (chunk: Buffer) => client.write(chunk));
  }

  private isHeld({ peer }: Link): boolean {
    return peer !== null && this.isSevered(peer);
  }

  private hold(link: Link): void {
    if (!this.isHeld(link)) return;
    link.client.pause();
    link.upstream.pause();
  }
}

const PORT_OF_REPLICA = /listening-port\r\n\$\d+\r\n(\d+)/;

/** Identifies the peer, as far as possible, after another piece of its input. */
function peerAfter(before: Peer | null, chunk: Buffer): Peer | null {
  if (before !== null && (before.kind !== 'replica' || before.port !== null)) return before;
  const text = chunk.toString('latin1');
  const port = PORT_OF_REPLICA.exec(text)?.[1];
  if (port !== undefined) return { kind: 'replica', port: Number(port) };
  if (before !== null) return before;
  // A replica first sends only a PING and waits for its answer. A Sentinel sends its name first.
  if (text === '*1\r\n$4\r\nPING\r\n') return { kind: 'replica', port: null };
  return { kind: text.includes('sentinel-') ? 'sentinel' : 'client' };
}

function destroy({ client, upstream }: Link): void {
  client.destroy();
  upstream.destroy();
}
