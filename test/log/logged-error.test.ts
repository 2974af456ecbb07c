import { once } from 'node:events';
import { connect } from 'node:net';
import { UnrecoverableError } from 'bullmq';
import pg from 'pg';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AppError } from '../../src/errors.ts';
import { errorText, loggedError } from '../../src/telemetry/logged-error.ts';
import { createLog, lastWords } from '../../src/telemetry/log.ts';
import { StartError } from '../../src/start-error.ts';
import { testStack } from '../stack/stack.ts';
import { opened } from '../stack/opened.ts';

const SECRET = 'Planted Person';

let redis: Redis;
let postgres: pg.Pool;

const stack = opened(() => testStack());
beforeAll(async () => {
  redis = new Redis(stack.redisUrl);
  postgres = new pg.Pool({ connectionString: stack.databaseUrl });
  await postgres.query(
    'CREATE TABLE people (id int PRIMARY KEY, name text UNIQUE CHECK (length(name) < 20), born date)',
  );
});

afterAll(async () => {
  redis.disconnect();
  await postgres.end();
});

/** The error with which the call rejects. */
async function thrownBy(call: () => unknown): Promise<unknown> {
  try {
    await call();
  } catch (error) {
    return error;
  }
  throw new Error('Nothing was thrown.');
}

/** The result of `loggedError`, which contains the secret in no form. */
function loggedWithout(error: unknown): ReturnType<typeof loggedError> {
  const logged = loggedError(error);
  for (const text of [JSON.stringify(logged), errorText(error)]) expect(text).not.toMatch(/planted|person/i);
  return logged;
}

describe('errors of Redis', () => {
  test.each<[string, string[], string]>([
    ['an unknown command quotes its arguments', ['NOSUCH', SECRET], 'ERR'],
    [
      'a wrong password is in the arguments',
      ['AUTH', 'nobody', SECRET],
      'WRONGPASS invalid username-password pair or user is disabled.',
    ],
    ['a script that fails with a value', ['EVAL', `error('${SECRET}')`, '0'], 'ERR, script: '],
    ['a script that answers an error', ['EVAL', `return redis.error_reply('${SECRET}')`, '0'], 'Redis refused it'],
    [
      'a disk that is full, by its name',
      ['EVAL', `return redis.error_reply('MISCONF Errors writing to the AOF file: No space left on device')`, '0'],
      'Redis cannot write to its disk, which may be full: MISCONF Errors writing to the AOF file',
    ],
    [
      'a script that compares',
      ['EVAL', `return ARGV[1] < 1`, '0', SECRET],
      'ERR, attempt to compare string with number, script: ',
    ],
  ])('%s', async (_, [command = '', ...args], message) => {
    const logged = loggedWithout(await thrownBy(() => redis.call(command, ...args)));
    expect(logged).toMatchObject({ type: 'ReplyError', message: expect.stringContaining(message) });
    expect(logged.stack).toMatch(/^ +at /);
  });
});

describe('errors of Postgres', () => {
  test.each<[string, string, unknown[], object]>([
    [
      'a row twice: its detail holds the value',
      `INSERT INTO people VALUES (1, $1), (2, $1)`,
      [SECRET],
      {
        code: '23505',
        message: 'duplicate key value violates unique constraint "people_name_key"',
        table: 'people',
        constraint: 'people_name_key',
      },
    ],
    [
      'a row refused: its detail holds the row',
      `INSERT INTO people VALUES (1, $1)`,
      [`${SECRET} who is long`],
      { code: '23514', message: 'new row for relation "people" violates check constraint "people_name_check"' },
    ],
    [
      'a value of the wrong form: the message quotes it',
      `INSERT INTO people VALUES ($1)`,
      [SECRET],
      { code: '22P02', message: 'Postgres refused the statement with SQLSTATE 22P02', routine: 'pg_strtoint32_safe' },
    ],
    [
      'JSON of the wrong form: the context quotes it',
      `SELECT $1::jsonb`,
      [`{"name": ${SECRET}}`],
      { code: '22P02', message: 'Postgres refused the statement with SQLSTATE 22P02' },
    ],
    [
      'an exception of a function',
      `DO $$ BEGIN RAISE EXCEPTION '${SECRET}'; END $$`,
      [],
      { code: 'P0001', message: 'Postgres refused the statement with SQLSTATE P0001' },
    ],
    [
      'a full disk, by its name',
      `DO $$ BEGIN RAISE EXCEPTION 'could not extend file "${SECRET}"' USING ERRCODE = '53100'; END $$`,
      [],
      { code: '53100', message: 'The disk of Postgres is full (SQLSTATE 53100)' },
    ],
    [
      'a table that is missing',
      'SELECT FROM nothing',
      [],
      { code: '42P01', message: 'relation "nothing" does not exist' },
    ],
  ])('%s', async (_, statement, values, expected) => {
    const logged = loggedWithout(await thrownBy(() => postgres.query(statement, values)));
    expect(logged).toMatchObject({ type: 'DatabaseError', severity: 'ERROR', ...expected });
    for (const field of ['detail', 'where', 'hint', 'internalQuery']) expect(logged).not.toHaveProperty(field);
  });
});

describe('other errors', () => {
  test.each<[string, () => unknown, object]>([
    ['unreadable JSON', () => JSON.parse(`"${SECRET}`), { type: 'SyntaxError', message: '' }],
    ['an invalid number', () => BigInt(SECRET), { type: 'SyntaxError' }],
    [
      'an invalid time zone',
      () => Intl.DateTimeFormat('en', { timeZone: SECRET }),
      { type: 'RangeError', message: '' },
    ],
    ['an invalid URL', () => new URL(SECRET), { code: 'ERR_INVALID_URL', message: 'ERR_INVALID_URL' }],
    [
      'an argument of the wrong type',
      () => Buffer.from({ [SECRET]: SECRET } as never),
      { code: 'ERR_INVALID_ARG_TYPE' },
    ],
    [
      'a connection refused',
      () => once(connect(9, '127.0.0.1'), 'connect'),
      { message: 'connect ECONNREFUSED', address: '127.0.0.1', port: 9 },
    ],
    [
      'an answer that quotes',
      () => Promise.reject(new AppError('invalid', `name '${SECRET}' is bad`)),
      { code: 'invalid', message: 'name …' },
    ],
    [
      "a job's error",
      () => Promise.reject(new UnrecoverableError(`{"name":"${SECRET}"}`)),
      { type: 'UnrecoverableError', message: '…' },
    ],
    [
      'a URL with a password',
      () => Promise.reject(new Error(`redis://:planted@host:6379 is away`)),
      { message: 'redis://…@host:6379 is away' },
    ],
    [
      'an e-mail address',
      () => Promise.reject(new Error('planted@person.example is taken')),
      { message: '… is taken' },
    ],
    ['no error at all', () => Promise.reject(SECRET as unknown as Error), { type: 'string' }],
    [
      'its own fields',
      () => Promise.reject(Object.assign(new Error('odd'), { code: `${SECRET}?`, command: { args: [SECRET] } })),
      { message: 'odd' },
    ],
    [
      'an apostrophe is no quotation mark',
      () => Promise.reject(new Error("Stream isn't writeable")),
      { message: "Stream isn't writeable" },
    ],
    [
      'a message that looks like frames',
      () => Promise.reject(new Error(`odd\n    at ${SECRET} (x:1:1)`)),
      { message: 'odd…' },
    ],
  ])('%s', async (_, call, expected) => {
    expect(loggedWithout(await thrownBy(call))).toMatchObject(expected);
  });

  test('causes and errors of several, and a message that repeats its cause', async () => {
    const cause = await thrownBy(() => postgres.query('SELECT $1::int', [SECRET]));
    const wrapped = new Error(`Shard 3 stands still: ${(cause as Error).message}`, { cause });
    expect(
      loggedWithout(
        new AggregateError([wrapped, SECRET], `for ${SECRET.toLowerCase().replace('planted person', '"x"')}`),
      ),
    ).toMatchObject({
      type: 'AggregateError',
      message: 'for …',
      errors: [
        {
          message: 'Shard 3 stands still: Postgres refused the statement with SQLSTATE 22P02',
          cause: { code: '22P02', routine: 'pg_strtoint32_safe' },
        },
        { type: 'string' },
      ],
    });
  });

  test('stops at a circle of causes', () => {
    const error = new Error('round');
    error.cause = error;
    expect(JSON.stringify(loggedError(error)).split('round').length - 1).toBe(5);
  });

  test('a sentence for a person comes last; any other error is logged like a caught one', () => {
    expect(lastWords(new StartError('Port 1 is "taken".'))).toBe('Port 1 is "taken".');
    expect(lastWords(new Error(`odd "${SECRET}"`))).toMatch(/^Error: odd …\n +at /);
  });

  test('every log uses it', () => {
    expect(createLog({ level: 'silent', name: 'test' })[Symbol.for('pino.serializers') as never]).toMatchObject({
      err: loggedError,
    });
  });
});
