import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { freePort } from '../../../src/local/free-ports.ts';
import { type GuardedProcess, serverEnvironment, startGuarded } from '../../../src/local/guarded-process.ts';
import { readRedisSettings } from '../../../src/local/redis-server.ts';
import { eventually, signal } from '../processes.ts';
import { PartitionProxy } from './partition-proxy.ts';

/** Shorter than the default of 15 s, so that a run tries more; but a busy machine may stop a healthy node for a second or two. */
const NODE_TIMEOUT_MS = 5_000;
/** How long a command may take. */
const ANSWER_MS = 10_000;

/**
 * A cluster node with `appendfsync always`. All others know it by the port of a proxy. It ends with this process at the
 * latest.
 */
export class ClusterNode {
  readonly proxy: PartitionProxy;
  /** The port by which Laurel and the other nodes know it. */
  readonly port: number;
  private readonly ownPort: number;
  private readonly busPort: number;
  private readonly program: string;
  private readonly folder: string;
  private server: GuardedProcess | null = null;

  private constructor(parts: {
    proxy: PartitionProxy;
    port: number;
    ownPort: number;
    busPort: number;
    folder: string;
    program: string;
  }) {
    this.proxy = parts.proxy;
    this.port = parts.port;
    this.ownPort = parts.ownPort;
    this.busPort = parts.busPort;
    this.program = parts.program;
    this.folder = parts.folder;
  }

  static async start(folder: string, program: string): Promise<ClusterNode> {
    const [ownPort, busPort] = [await freePort(), await freePort()];
    const proxy = new PartitionProxy(ownPort);
    const node = new ClusterNode({ proxy, port: await proxy.listen(), ownPort, busPort, folder, program });
    await node.start();
    return node;
  }

  get isRunning(): boolean {
    return this.server !== null;
  }

  get pids(): number[] {
    return this.server === null ? [] : [this.server.pid];
  }

  /** Starts it with its data, including its place in the cluster; resolves when it answers. */
  async start(): Promise<void> {
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
    const file = join(this.folder, 'redis.conf');
    await writeFile(file, this.settings.join('\n'));
    this.server = startGuarded({
      command: this.program,
      args: [file],
      stopSignal: 'SIGTERM',
      as: null,
      env: serverEnvironment(),
      removeAfterwards: null,
    });
    await eventually('a Redis answers', async () => (await this.command('PING').catch(() => '')) === 'PONG');
  }

  /** One command on its own connection, past the proxy; rejects if there is no answer in time. */
  async command(...[name = '', ...words]: (string | number)[]): Promise<unknown> {
    const redis = new Redis({
      port: this.ownPort,
      lazyConnect: true,
      retryStrategy: () => null,
      commandTimeout: ANSWER_MS,
    });
    redis.on('error', () => undefined);
    try {
      await redis.connect();
      return await redis.call(String(name), ...words);
    } finally {
      redis.disconnect();
    }
  }

  /** A field of INFO REPLICATION; '' if it is missing or there is no answer. */
  async replication(field: string): Promise<string> {
    const info = String(await this.command('INFO', 'REPLICATION').catch(() => ''));
    return new RegExp(`^${field}:([^\r\n]*)`, 'm').exec(info)?.[1] ?? '';
  }

  async id(): Promise<string> {
    return String(await this.command('CLUSTER', 'MYID'));
  }

  /** The IDs of the nodes that it knows. During a handshake it knows another node only by a provisional ID. */
  async knows(): Promise<Set<string>> {
    const lines = String(await this.command('CLUSTER', 'NODES')).split('\n');
    return new Set(lines.filter((line) => !line.includes('handshake')).map((line) => line.split(' ')[0]!));
  }

  /** Introduces another node to this one, and so to all. */
  async meet(other: ClusterNode): Promise<void> {
    await this.command('CLUSTER', 'MEET', '127.0.0.1', other.port, other.busPort);
  }

  /** Whether it knows no other node because its data was lost. */
  async isStranger(): Promise<boolean> {
    return String(await this.command('CLUSTER', 'INFO')).includes('cluster_known_nodes:1\r');
  }

  pause(): void {
    signal(this.pids, 'SIGSTOP');
  }

  resume(): void {
    signal(this.pids, 'SIGCONT');
  }

  async kill(): Promise<void> {
    const { server } = this;
    if (server === null) return;
    this.server = null;
    signal([server.pid], 'SIGKILL');
    await server.exited;
  }

  /** Deletes its data. Only while it is not running. */
  async lose(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  }

  async close(): Promise<void> {
    await this.kill();
    this.proxy.close();
  }

  private get settings(): string[] {
    return [
      'bind 127.0.0.1',
      `port ${this.ownPort}`,
      `dir ${JSON.stringify(this.folder)}`,
      readRedisSettings(),
      'cluster-enabled yes',
      `cluster-port ${this.busPort}`,
      `cluster-node-timeout ${NODE_TIMEOUT_MS}`,
      'cluster-require-full-coverage no',
      'cluster-allow-replica-migration no',
      'cluster-announce-ip 127.0.0.1',
      `cluster-announce-port ${this.port}`,
      `cluster-announce-bus-port ${this.busPort}`,
      'replica-announce-ip 127.0.0.1',
      `replica-announce-port ${this.port}`,
    ];
  }
}
