import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { createProgress } from '../../../src/cli/load/progress.ts';
import { clean } from '../../../src/cli/load/run.ts';

test('cleaning deletes several pages at the same time, and waits for users who are not listed yet', async () => {
  const users = new Set(Array.from({ length: 950 }, (_, no) => `load-r1-${String(no).padStart(4, '0')}`));
  const late = ['load-r1-x', 'load-r1-y'];
  let [outboxEntries, lists, deleting, mostDeleting] = [2, 0, 0, 0];
  const wait = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 20));
  const answers: Record<string, (query: URLSearchParams) => unknown> = {
    'GET /v1/users': (query) => {
      lists += 1;
      const after = query.get('after') ?? '';
      const listed = [...users].toSorted().filter((id) => id > after);
      return listed.slice(0, Number(query.get('limit'))).map((id) => ({ id }));
    },
    'DELETE /v1/users': async (query) => {
      deleting += 1;
      mostDeleting = Math.max(mostDeleting, deleting);
      await wait();
      deleting -= 1;
      return {
        deleted: query
          .get('ids')!
          .split(',')
          .filter((id) => users.delete(id)),
      };
    },
    'GET /v1/system': () => {
      const shards = [{ shard: 0, outboxEntries }];
      // Now the worker has stored them.
      for (const id of late.splice(0)) users.add(id);
      outboxEntries = 0;
      return { shards };
    },
  };
  const answerTo = async (request: IncomingMessage): Promise<unknown> => {
    const { pathname, searchParams } = new URL(request.url!, 'http://laurel.test');
    return answers[`${request.method} ${pathname}`]!(searchParams);
  };
  const server = createServer((request, response) => {
    void answerTo(request).then((answer) => response.end(JSON.stringify(answer)));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const admin = { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, key: 'adm_a.b' };
  expect(await clean({ app: admin, admin }, 'r1', createProgress())).toBe(952);
  expect([...users]).toEqual([]);
  expect(mostDeleting).toBeGreaterThan(1);
  expect(mostDeleting).toBeLessThanOrEqual(4);
  // A list of ten pages, and one for each later look.
  expect(lists).toBeLessThan(20);
  server.close();
});
