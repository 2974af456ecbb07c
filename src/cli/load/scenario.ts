import { readFileSync } from 'node:fs';
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import { Type, type Static } from 'typebox';
import { MAX_BATCH } from '../../domain/event.ts';
import { nearest } from '../../domain/nearest.ts';
import { CommandError } from '../command.ts';
import { SCENARIOS } from './scenarios.ts';
import { DURATION_PATTERN, rateCurve } from './schedule.ts';

const strict = { additionalProperties: false } as const;
const Share = Type.Number({ minimum: 0, maximum: 1 });
const Key = Type.String({ minLength: 1, maxLength: 255 });
const Duration = Type.String({ pattern: DURATION_PATTERN });
/** Names with weights, or names that are equally frequent. */
const Names = Type.Union([Type.Array(Key, { minItems: 1 }), Type.Record(Key, Type.Number({ exclusiveMinimum: 0 }))]);
const Attributes = Type.Record(Key, Type.Array(Type.String({ minLength: 1 }), { minItems: 1 }));

export const REQUEST_KINDS = ['event', 'batch', 'total', 'leaderboard', 'summary'] as const;
export type RequestKind = (typeof REQUEST_KINDS)[number];

const Request = Type.Object(
  {
    kind: Type.Enum([...REQUEST_KINDS]),
    weight: Type.Optional(Type.Number({ exclusiveMinimum: 0 })),
    /** Of `batch`: events in each. */
    events: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_BATCH })),
  },
  strict,
);

/** What a load test sends. Every field has a default except `requests`; options of the command replace fields. */
export const Scenario = Type.Object(
  {
    $schema: Type.Optional(Type.String()),
    description: Type.Optional(Type.String()),
    requests: Type.Array(Request, { minItems: 1 }),
    metrics: Type.Optional(Names),
    leaderboards: Type.Optional(Type.Array(Key, { minItems: 1 })),
    pointsSystems: Type.Optional(Type.Array(Key, { minItems: 1 })),
    attributes: Type.Optional(
      Type.Object({ user: Type.Optional(Attributes), event: Type.Optional(Attributes) }, strict),
    ),
    values: Type.Optional(
      Type.Object(
        {
          min: Type.Number({ minimum: 0, maximum: 1e6 }),
          max: Type.Number({ minimum: 0, maximum: 1e6 }),
          decimals: Type.Optional(Type.Integer({ minimum: 0, maximum: 6 })),
        },
        strict,
      ),
    ),
    /** Share of the events with an idempotency key. */
    keyed: Type.Optional(Share),
    /** Clients send again what was refused with 503, or not answered within 5 s. */
    retries: Type.Optional(Type.Boolean()),
    users: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000_000 })),
    rate: Type.Optional(Type.Union([Type.Number({ exclusiveMinimum: 0 }), Type.String({ minLength: 1 })])),
    bursts: Type.Optional(Type.Object({ every: Duration, within: Type.Optional(Duration) }, strict)),
    duration: Type.Optional(Duration),
    warmUp: Type.Optional(Duration),
    connections: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000 })),
    /** Live streams that are open meanwhile. */
    streams: Type.Optional(Type.Integer({ minimum: 0, maximum: 5_000 })),
    /** The result fails beyond these. */
    limits: Type.Optional(
      Type.Object({ p99Ms: Type.Optional(Type.Number({ exclusiveMinimum: 0 })), errors: Type.Optional(Share) }, strict),
    ),
    /** Raises the rate step by step, each of the scenario's duration, until a limit is exceeded. */
    ramp: Type.Optional(
      Type.Object(
        {
          from: Type.Number({ exclusiveMinimum: 0 }),
          factor: Type.Optional(Type.Number({ minimum: 1.05, maximum: 10 })),
        },
        strict,
      ),
    ),
  },
  strict,
);
export type Scenario = Static<typeof Scenario>;

/** A scenario by its name, or from a JSON file. Ends the command with the faulty field if it is invalid. */
export function readScenario(nameOrFile: string): Scenario {
  const known = SCENARIOS[nameOrFile];
  if (known !== undefined) return checkedScenario(structuredClone(known), nameOrFile);
  const names = Object.keys(SCENARIOS);
  let text: string;
  try {
    text = readFileSync(nameOrFile, 'utf8');
  } catch (error) {
    const similar = nearest(nameOrFile, names, 0.4);
    const hint = similar === null ? '' : ` Did you mean ${similar}?`;
    throw new CommandError(
      `--scenario must be ${names.join(', ')}, or a JSON file; "${nameOrFile}" is no scenario, and cannot be read (${(error as NodeJS.ErrnoException).code}).${hint}`,
    );
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new CommandError(`${nameOrFile} is not JSON: ${(error as Error).message}`);
  }
  return checkedScenario(value, nameOrFile);
}

let validate: ValidateFunction<Scenario> | undefined;

/** The value, if it is a scenario. `source` names it in errors. */
export function checkedScenario(value: unknown, source: string): Scenario {
  validate ??= new Ajv2020({ strict: false }).compile<Scenario>(Scenario);
  if (!validate(value)) throw new CommandError(`${source}: ${faultText(validate.errors ?? [])}`);
  const { values, rate, users = 1 } = value;
  if (values !== undefined && values.max < values.min)
    throw new CommandError(`${source}: values.max must be at least values.min.`);
  if (rate !== undefined) rateCurve(rate, `${source}: rate`);
  if (value.ramp !== undefined && value.limits === undefined)
    throw new CommandError(`${source}: ramp needs limits: the p99Ms or the share of errors that ends it.`);
  if (value.ramp !== undefined && value.bursts !== undefined)
    throw new CommandError(`${source}: ramp and bursts exclude each other.`);
  if ((value.streams ?? 0) > users * 100)
    throw new CommandError(`${source}: streams must be at most 100 for each of the users.`);
  return value;
}

const KNOWN: Readonly<Record<string, readonly string[]>> = {
  '': Object.keys(Scenario.properties),
  requests: Object.keys(Request.properties),
  values: ['min', 'max', 'decimals'],
  attributes: ['user', 'event'],
  bursts: ['every', 'within'],
  limits: ['p99Ms', 'errors'],
  ramp: ['from', 'factor'],
};

interface Params {
  limit: number;
  type: string;
  allowedValues: readonly string[];
}

const TEXTS: Readonly<Record<string, (params: Params) => string>> = {
  type: ({ type }) => `must be ${/^[aeiou]/.test(type) ? 'an' : 'a'} ${type}`,
  enum: ({ allowedValues }) => `must be one of: ${allowedValues.join(', ')}`,
  pattern: () => 'must be a duration like 500ms, 30s, 5m or 1h',
  minimum: ({ limit }) => `must be at least ${limit}`,
  maximum: ({ limit }) => `must be at most ${limit}`,
  exclusiveMinimum: ({ limit }) => `must be greater than ${limit}`,
  minItems: ({ limit }) => `must have at least ${limit} item${limit === 1 ? '' : 's'}`,
  minLength: () => 'must not be empty',
};

function faultText(errors: readonly ErrorObject[]): string {
  // The alternative that fits best failed deepest.
  const error = errors.toSorted((a, b) => b.instancePath.length - a.instancePath.length)[0]!;
  const { keyword, instancePath, params } = error;
  const field = instancePath
    .split('/')
    .slice(1)
    .map((part) => (/^\d+$/.test(part) ? `[${part}]` : `.${part}`))
    .join('')
    .replace(/^\./, '');
  if (keyword === 'required') return `${[field, params['missingProperty']].filter(Boolean).join('.')} is required.`;
  if (keyword === 'additionalProperties') {
    const name = String(params['additionalProperty']);
    const known = KNOWN[field.split(/[.[]/)[0]!] ?? [];
    const similar = nearest(name, known, 0.5);
    const hint = similar === null ? `known are ${known.join(', ')}` : `did you mean ${similar}?`;
    return `${[field, name].filter(Boolean).join('.')} is not a known field (${hint}).`;
  }
  const subject = field === '' ? 'The scenario' : field;
  const text = TEXTS[keyword]?.(params as Params);
  if (text !== undefined) return `${subject} ${text}.`;
  return `${subject} ${error.message}.`;
}
