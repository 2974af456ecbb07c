/**
 * A plain service that does the same work: Fastify and pg. An event is one prepared statement in one transaction
 * (schema.sql); a batch is copied in and one transaction. Answers are durable. Runs as a separate process, sends the port to
 * its parent, and ends with it. `RANKS=0`: without the ranks before and after, and without their data.
 */
import { once } from 'node:events';
import Fastify from 'fastify';
import { v7 } from 'uuid';
import { createPool } from '../../src/postgres/pool.ts';
import { BATCH, EVENT, type Event } from './event.ts';
import { recordBatch } from './record-batch.ts';

// At least twice the cores; more connections only wait for each other (5 to 20: the same within noise).
const pool = createPool(process.env['DATABASE_URL']!, { max: 8 });
const ranks = process.env['RANKS'] !== '0';
const apiKey = process.env['ADMIN_API_KEY'];
const { rows } = await pool.query<{ key: string; no: number }>('SELECT key, no FROM metrics');
const metrics = new Map(rows.map(({ key, no }) => [key, no]));

const app = Fastify({ bodyLimit: 4 * 1024 * 1024 });
app.addHook('onRequest', async (request, reply) => {
  if (request.headers['x-api-key'] !== apiKey) return reply.code(401).send({ error: 'Unknown key.' });
});
app.post<{ Params: { key: string }; Body: Event }>(
  '/v1/metrics/:key/event',
  { schema: { body: EVENT } },
  async (request, reply) => {
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
app.post<{ Body: Event[] }>('/v1/metrics/events', { schema: { body: BATCH } }, async (request, reply) => {
  if (request.body.some(({ key = '' }) => !metrics.has(key))) return reply.code(404).send({ error: 'Unknown metric.' });
  return recordBatch(pool, request.body, metrics);
});
const address = new URL(await app.listen({ host: '127.0.0.1', port: 0 }));
process.send?.(Number(address.port));
await once(process, 'disconnect');
await app.close();
await pool.end();
process.exit(0);
