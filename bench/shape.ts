import type { Catalog } from '../src/domain/catalog.ts';
import type { AttributeCondition } from '../src/domain/schemas.ts';
import type { MetricEvent } from '../src/domain/event.ts';

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

/** The names that events may use for a catalog. Plain data, since it is sent to the processes that make load. */
export interface Shape {
  metrics: string[];
  /** Keys of a leaderboard and a points system that events change, for reads. */
  board: string;
  pointsSystem: string;
  userAttributes: Choice[];
  eventAttributes: Choice[];
}

/** The users of the events: random ones among a number, or a single hot user. */
export type Crowd = { users: number } | { hotUser: string };

/** Shares of the events with each of these. */
const WITH = { userAttributes: 0.5, eventAttributes: 0.5, decimal: 0.2 };
/** Share of the events with an idempotency key, unless a case says otherwise. */
export const KEYED = 0.3;
const ZONES = ['Europe/London', 'America/New_York', 'Asia/Tokyo', undefined];
/** Values that no condition of the catalog requires, so that some events match and some do not. */
const OTHER_VALUES = ['one', 'two'];

/** Every metric, and every attribute with the values that the catalog's conditions require, and others. */
export function shapeOf(catalog: Catalog): Shape {
  const conditions: AttributeCondition[] = [
    ...[...catalog.achievements, ...catalog.triggers].flatMap((item) => [
      ...item.userAttributes,
      ...item.eventAttributes,
    ]),
    ...catalog.boosts.flatMap((boost) => boost.userAttributes),
  ];
  const choices = (type: 'user' | 'event'): Choice[] =>
    catalog.attributes
      .filter((attribute) => attribute.type === type)
      .map(({ id, key }) => {
        const asked = conditions.filter(({ attributeId }) => attributeId === id).map((one) => one.attributeValue);
        return { key, values: [...new Set([...asked, ...OTHER_VALUES])] };
      });
  return {
    metrics: catalog.metrics.map(({ key }) => key),
    board: catalog.leaderboards[0]?.key ?? '',
    pointsSystem: catalog.pointsSystems[0]?.key ?? '',
    userAttributes: choices('user'),
    eventAttributes: choices('event'),
  };
}

/** Pseudo-random numbers from 0 to below 1, the same for the same seed (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/**
 * Makes events: a user keeps the same zone and attribute values, so that users do not hop between groups of leaderboards.
 */
export class EventMaker {
  /** From 0 to below 1, the same sequence for the same seed. */
  readonly random: () => number;
  private readonly options: { shape: Shape; crowd: Crowd; seed: number; keyed: number };
  private made = 0;

  constructor(options: { shape: Shape; crowd: Crowd; seed: number; keyed: number }) {
    this.options = options;
    this.random = randomFrom(options.seed);
  }

  /** `userNo`: the user; by default a random one of the crowd. Idempotency keys never repeat over seeds. */
  next(userNo = this.userNo()): MadeEvent {
    const { random } = this;
    const { shape, seed, keyed } = this.options;
    this.made += 1;
    const user: MetricEvent['user'] = { id: this.userId(userNo) };
    const tz = ZONES[userNo % ZONES.length];
    if (tz !== undefined) user.tz = tz;
    if (random() < WITH.userAttributes) {
      user.attributes = Object.fromEntries(
        shape.userAttributes.map(({ key, values }, at) => [key, values[(userNo + at) % values.length]!]),
      );
    }
    const value = Math.ceil(random() * 20) + (random() < WITH.decimal ? 0.25 : 0);
    const event: MetricEvent = { user, value };
    if (random() < WITH.eventAttributes) {
      event.attributes = Object.fromEntries(shape.eventAttributes.map(({ key, values }) => [key, this.one(values)]));
    }
    const idempotencyKey = random() < keyed ? `bench-${seed}-${this.made}` : null;
    return { metricKey: this.metricKey(), event, idempotencyKey };
  }

  userId(userNo = this.userNo()): string {
    const { crowd } = this.options;
    return 'users' in crowd ? `user-${userNo}` : crowd.hotUser;
  }

  metricKey(): string {
    return this.one(this.options.shape.metrics);
  }

  private userNo(): number {
    const { crowd } = this.options;
    return 'users' in crowd ? Math.floor(this.random() * crowd.users) : 0;
  }

  private one<T>(items: readonly T[]): T {
    return items[Math.floor(this.random() * items.length)]!;
  }
}
