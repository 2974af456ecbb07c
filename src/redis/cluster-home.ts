import { createConnection } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { AbstractConnector, type RedisOptions } from 'ioredis';
import { type Address, nameOf } from './cluster-layout.ts';

/** Time limit for a node's answer. */
export const ANSWER_MS = 500;

/** The connections that follow `INSTALLATION_SLOT`. */
export function createHome(locate: () => Promise<Address>) {
  const connected = new Map<HomeConnector, string>();

  function note(connector: HomeConnector, address: Address): void {
    connected.set(connector, nameOf(address));
  }

  function forget(connector: HomeConnector): void {
    connected.delete(connector);
  }

  /** Ends connections to other nodes, which then reconnect. A subscription sees no error when the slot moves. */
  function moveTo(address: Address): void {
    const name = nameOf(address);
    for (const [connector, to] of connected) if (to !== name) connector.end();
  }

  return { locate, note, forget, moveTo };
}

export type Home = ReturnType<typeof createHome>;

class HomeConnector extends AbstractConnector {
  private readonly home: Home;
  private readonly options: RedisOptions;

  constructor(home: Home, options: RedisOptions) {
    super(options.disconnectTimeout ?? ANSWER_MS);
    this.home = home;
    this.options = options;
  }

  override async connect(): Promise<NonNullable<AbstractConnector['stream']>> {
    this.connecting = true;
    const address = await this.home.locate();
    if (!this.connecting) throw new Error('Connection is closed.');
    const { family, tls } = this.options;
    const to = { ...address, ...(family !== undefined && { family }) };
    const stream = tls === undefined ? createConnection(to) : connectTls({ ...to, ...tls });
    stream.once('error', (error) => (this.firstError = error));
    stream.once('close', () => this.home.forget(this));
    this.home.note(this, address);
    this.stream = stream;
    return stream;
  }

  end(): void {
    this.stream?.destroy();
  }
}

export const connectorTo = (home: Home): NonNullable<RedisOptions['Connector']> =>
  class extends HomeConnector {
    constructor(options: unknown) {
      super(home, options as RedisOptions);
    }
  };
