import { readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { freePort } from '../../../src/local/free-port.ts';
import { startGuarded, type GuardedProcess } from '../../../src/local/guarded-process.ts';
import { findRedisProgram } from '../../../src/local/redis-server.ts';
import { serverEnvironment } from '../../../src/local/server-environment.ts';
import { PACKAGE_ROOT } from '../../../src/package-root.ts';
import { fieldsOf } from '../../../src/redis-fields.ts';

/**
 * After so long without an answer a Sentinel takes a Redis for gone: some seconds where it matters, here less, so that more is tried.
 * Less than about 1.2 s does not do: the Sentinel that led a takeover connects to the new master up to a second and a tick after it
 * named it (it tries once a second, counted from its last try with the former one), and takes that for a silence. With 1,000 ms
 * 4 of 60 takeovers were followed by a second one, which left the group without a replica for 10 s.
 */
const DOWN_AFTER_MS = 1_500;
/** How long a takeover may take; one that failed is tried again after twice as long. */
const TAKEOVER_MS = 3_000;

/** Sentinels that watch some masters, each known by a name and its port; more than half of them must agree. */
export class Sentinels {
  readonly ports: readonly number[];
  private readonly processes: readonly GuardedProcess[];
  private readonly connections: readonly Redis[];

  private constructor(ports: readonly number[], processes: readonly GuardedProcess[]) {
    this.ports = ports;
    this.processes = processes;
    this.connections = ports.map((port) => {
      const redis = new Redis({ port, maxRetriesPerRequest: null, retryStrategy: () => 20 });
      redis.on('error', () => undefined);
      return redis;
    });
  }

  static async start(
    folder: string,
    masters: readonly { name: string; port: number }[],
    count: number,
  ): Promise<Sentinels> {
    const quorum = Math.floor(count / 2) + 1;
    const ports: number[] = [];
    const processes: GuardedProcess[] = [];
    for (let no = 0; no < count; no += 1) {
      const port = await freePort();
      const directory = join(folder, `sentinel-${no}`);
      await mkdir(directory, { recursive: true });
      const file = join(directory, 'sentinel.conf');
      const watched = masters.flatMap((master) => [
        `sentinel monitor ${master.name} 127.0.0.1 ${master.port} ${quorum}`,
        readFileSync(join(PACKAGE_ROOT, 'ops', 'sentinel.conf'), 'utf8').replaceAll('NAME', master.name),
        // Shorter than what is shipped.
        `sentinel down-after-milliseconds ${master.name} ${DOWN_AFTER_MS}`,
        `sentinel failover-timeout ${master.name} ${TAKEOVER_MS}`,
      ]);
      await writeFile(file, ['bind 127.0.0.1', `port ${port}`, `dir ${directory}`, ...watched, ''].join('\n'));
      ports.push(port);
      processes.push(
        startGuarded({
          command: findRedisProgram()!,
          args: [file, '--sentinel'],
          stopSignal: 'SIGTERM',
          as: null,
          env: serverEnvironment(),
          removeAfterwards: null,
        }),
      );
    }
    return new Sentinels(ports, processes);
  }

  /** The port of a master, as each of them says. */
  async masterPorts(name: string): Promise<number[]> {
    const answers = await Promise.all(
      this.connections.map((redis) => redis.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name)),
    );
    return answers.map((answer) => Number((answer as [string, string] | null)?.[1]));
  }

  /** Whether each of them sees a master, that many replicas, and all other Sentinels, and no trouble with any of them. */
  async seeAll(name: string, replicas: number): Promise<boolean> {
    const seen = await Promise.all(
      this.connections.map(async (redis) => {
        const master = fieldsOf(await redis.call('SENTINEL', 'MASTER', name));
        const others = ((await redis.call('SENTINEL', 'REPLICAS', name)) as unknown[]).map(fieldsOf);
        return (
          master.get('flags') === 'master' &&
          master.get('num-other-sentinels') === String(this.ports.length - 1) &&
          others.length === replicas &&
          others.every((replica) => replica.get('flags') === 'slave' && replica.get('master-link-status') === 'ok')
        );
      }),
    );
    return seen.every(Boolean);
  }

  /** Has a replica take the place of a master that is well. False: it could not be begun now. */
  async takeOver(name: string): Promise<boolean> {
    return this.connections[0]!.call('SENTINEL', 'FAILOVER', name).then(
      () => true,
      () => false,
    );
  }

  async close(): Promise<void> {
    for (const redis of this.connections) redis.disconnect();
    await Promise.all(this.processes.map((each) => each.stop()));
  }
}
