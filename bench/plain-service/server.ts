/**
 * A plain service that does the same work: Fastify and pg, an event is one SQL statement in one transaction
 * (schema.sql), durable when it is answered. A process of its own; sends its parent the port, ends with it.
 * `RANKS=0`: without the ranks before and after, which Postgres has to count.
 */
import { once } from 'node:events';
import Fastify from 'fastify';
import { v7 } from 'uuid';
import { createPool } from '../../src/postgres/pool.ts';

const EVENT = {
  type: 'object',
  required: ['user', 'value'],
  properties: {
    user: {
      type: 'object',
      required: ['id'],
      properties: {
        id: { type: 'string', minLength: 1, maxLength: 255 },
        tz: { type: 'string' },
        attributes: { type: 'object', additionalProperties: { type: 'string' } },
      },
    },
    value: { type: 'number', minimum: -1e12, maximum: 1e12 },
    attributes: { type: 'object', additionalProperties: { type: 'string' } },
  },
} as const;

interface Event {
  user: { id: string; tz?: string; attributes?: Record<string, string> };
  value: number;
  attributes?: Record<string, string>;
}

// Twice the cores: more connections only wait for one another here (measured 5 to 20: the same within noise).
const pool = createPool(process.env['DATABASE_URL']!, { max: 8 });
const ranks = process.env['RANKS'] !== '0';
const apiKey = process.env['ADMIN_API_KEY'];
const { rows } = await pool.query<{ key: string; no: number }>('SELECT key, no FROM metrics');
const metrics = new Map(rows.map(({ key, no }) => [key, no]));

const app = Fastify();
app.post<{ Params: { key: string }; Body: Event }>(
  '/v1/metrics/:key/event',
  { schema: { body: EVENT } },
  async (request, reply) => {
    if (request.headers['x-api-key'] !== apiKey) return reply.code(401).send({ error: 'Unknown key.' });
    const metric = metrics.get(request.params.key);
    if (metric === undefined) return reply.code(404).send({ error: 'Unknown metric.' });
    const { user, value, attributes } = request.body;
    const answer = await pool.query<{ answer: { idempotentReplayed?: true } }>({
      name: 'record_event',
      text: 'SELECT record_event($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) AS answer',
      values: [
        v7(),
        user.id,
        user.tz ?? null,
        JSON.stringify(user.attributes ?? {}),
        metric,
        value,
        attributes === undefined ? null : JSON.stringify(attributes),
        request.headers['idempotency-key'] ?? null,
        new Date(),
        ranks,
      ],
    });
    const done = answer.rows[0]!.answer;
    return reply.code(done.idempotentReplayed ? 202 : 201).send(done);
  },
);
const address = new URL(await app.listen({ host: '127.0.0.1', port: 0 }));
process.send?.(Number(address.port));
await once(process, 'disconnect');
await app.close();
await pool.end();
process.exit(0);
