import type { Configuration, ConfiguredCondition } from '../../domain/configuration.ts';
import type { MetricEvent } from '../../domain/event.ts';
import { randomFrom, weighted } from './random.ts';

/** An event as a client would send it. */
export interface MadeEvent {
  metricKey: string;
  event: MetricEvent;
  idempotencyKey: string | null;
}

interface Choice {
  key: string;
  values: string[];
}

/** The names that events and reads may use. Plain data, since it is sent to the processes that make load. */
export interface Shape {
  /** Keys of metrics, by their weights. */
  metrics: Record<string, number>;
  leaderboards: string[];
  pointsSystems: string[];
  userAttributes: Choice[];
  eventAttributes: Choice[];
}

/** The users of the events: random ones among a number, or a single hot user. `prefix`: of their IDs, `user-` by default. */
export type Crowd = { users: number; prefix?: string } | { hotUser: string };

/** The values of events: multiples of 1 / 10^decimals. */
export interface Values {
  min: number;
  max: number;
  decimals: number;
}

/** Shares of the events with each of these. */
const WITH = { userAttributes: 0.5, eventAttributes: 0.5, decimal: 0.2 };
/** Share of the events with an idempotency key, unless a case says otherwise. */
export const KEYED = 0.3;
const ZONES = ['Europe/London', 'America/New_York', 'Asia/Tokyo', undefined];
/** Values that no condition of the catalog requires, so that some events match and some do not. */
const OTHER_VALUES = ['one', 'two'];

/** Every resource, and every attribute with the values that the conditions of the configuration require, and others. */
export function shapeOf(configuration: Configuration): Shape {
  const { attributes = [], metrics = [], achievements = [], pointsSystems = [], leaderboards = [] } = configuration;
  const conditional: { userAttributes?: ConfiguredCondition[]; eventAttributes?: ConfiguredCondition[] }[] = [
    ...achievements,
    ...pointsSystems.flatMap(({ triggers = [], boosts = [] }) => [...triggers, ...boosts]),
  ];
  const choices = (type: 'user' | 'event'): Choice[] =>
    attributes
      .filter((attribute) => attribute.type === type)
      .map(({ key }) => {
        const conditions = conditional.flatMap((item) => item[`${type}Attributes`] ?? []);
        const required = conditions.filter((one) => one.key === key).map(({ value }) => value);
        return { key, values: [...new Set([...required, ...OTHER_VALUES])] };
      });
  return {
    metrics: Object.fromEntries(metrics.map(({ key }) => [key, 1])),
    // A board with a breakdown is read with attributes only.
    leaderboards: leaderboards
      .filter(({ status, breakdownAttributes = [] }) => status === 'active' && breakdownAttributes.length === 0)
      .map(({ key }) => key),
    pointsSystems: pointsSystems.map(({ key }) => key),
    userAttributes: choices('user'),
    eventAttributes: choices('event'),
  };
}

/** What determines the events. */
export interface MakerOptions {
  shape: Shape;
  crowd: Crowd;
  seed: number;
  /** Share of the events with an idempotency key. */
  keyed: number;
  /** Idempotency keys begin with it; default: `bench-` and the seed. */
  keyPrefix?: string;
  values?: Values;
}

/**
 * Makes events: a user keeps the same zone and attribute values, so that users do not hop between groups of leaderboards.
 */
export class EventMaker {
  /** From 0 to below 1, the same sequence for the same seed. */
  readonly random: () => number;
  private readonly options: MakerOptions;
  private readonly nextMetric: () => string;
  private made = 0;

  constructor(options: MakerOptions) {
    this.options = options;
    this.random = randomFrom(options.seed);
    const metrics = Object.entries(options.shape.metrics).map(([item, weight]) => ({ item, weight }));
    this.nextMetric = weighted(metrics, this.random);
  }

  /** `userNo`: the user; by default a random one of the crowd. Idempotency keys never repeat over seeds. */
  next({ userNo = this.userNo(), metricKey }: { userNo?: number; metricKey?: string } = {}): MadeEvent {
    const { random } = this;
    const { shape, seed, keyed, keyPrefix = `bench-${seed}` } = this.options;
    this.made += 1;
    const user: MetricEvent['user'] = { id: this.userId(userNo) };
    const tz = ZONES[userNo % ZONES.length];
    if (tz !== undefined) user.tz = tz;
    if (shape.userAttributes.length > 0 && random() < WITH.userAttributes) {
      user.attributes = Object.fromEntries(
        shape.userAttributes.map(({ key, values }, at) => [key, values[(userNo + at) % values.length]!]),
      );
    }
    const event: MetricEvent = { user, value: this.value() };
    if (shape.eventAttributes.length > 0 && random() < WITH.eventAttributes) {
      event.attributes = Object.fromEntries(shape.eventAttributes.map(({ key, values }) => [key, this.one(values)]));
    }
    const idempotencyKey = random() < keyed ? `${keyPrefix}-${this.made}` : null;
    return { metricKey: metricKey ?? this.nextMetric(), event, idempotencyKey };
  }

  userId(userNo = this.userNo()): string {
    const { crowd } = this.options;
    return 'users' in crowd ? `${crowd.prefix ?? 'user-'}${userNo}` : crowd.hotUser;
  }

  metricKey(): string {
    return this.nextMetric();
  }

  one<T>(items: readonly T[]): T {
    return items[Math.floor(this.random() * items.length)]!;
  }

  private userNo(): number {
    const { crowd } = this.options;
    return 'users' in crowd ? Math.floor(this.random() * crowd.users) : 0;
  }

  private value(): number {
    const { values } = this.options;
    if (values === undefined) return Math.ceil(this.random() * 20) + (this.random() < WITH.decimal ? 0.25 : 0);
    const unit = 10 ** values.decimals;
    const steps = Math.round((values.max - values.min) * unit);
    return Math.round(values.min * unit + Math.floor(this.random() * (steps + 1))) / unit;
  }
}
