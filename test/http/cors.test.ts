import { describe, expect, test } from 'vitest';
import { startLaurel } from '../laurel.ts';
import { opened } from '../stack/opened.ts';

const laurel = opened(() => startLaurel());

const OURS = 'x-api-key,content-type,idempotency-key,tenant-id';
const preflight = (url: string, method: string, asked = OURS): Promise<Response> =>
  fetch(url, {
    method: 'OPTIONS',
    headers: {
      Origin: 'https://app.example',
      'Access-Control-Request-Method': method,
      'Access-Control-Request-Headers': asked,
    },
  });

describe('a page in a browser with an application key', () => {
  test('may send an event: the preflight names the method and the headers', async () => {
    const { status, headers } = await preflight(`${laurel.appUrl}/v1/metrics/flips/event`, 'POST');
    expect(status).toBe(204);
    expect(headers.get('access-control-allow-origin')).toBe('*');
    expect(headers.get('access-control-allow-methods')).toBe('POST');
    const allowed = headers.get('access-control-allow-headers')?.toLowerCase().split(', ');
    expect(allowed).toEqual(expect.arrayContaining(['x-api-key', 'content-type', 'idempotency-key', 'tenant-id']));
  });

  test('may use a client library that identifies itself in its own headers', async () => {
    const asked = `${OURS},x-library-language,x-library-version`;
    const { status, headers } = await preflight(`${laurel.appUrl}/v1/metrics/flips/event`, 'POST', asked);
    expect(status).toBe(204);
    const allowed = headers.get('access-control-allow-headers')?.toLowerCase().split(', ');
    expect(allowed?.toSorted()).toEqual(asked.split(',').toSorted());
  });

  test('may read answers and errors', async () => {
    const key = laurel.adminKey;
    for (const headers of [{ 'X-API-KEY': key }, {}]) {
      const answer = await fetch(`${laurel.appUrl}/v1/leaderboards`, { headers });
      expect(answer.headers.get('access-control-allow-origin')).toBe('*');
    }
    const unknown = await fetch(`${laurel.appUrl}/nowhere`);
    expect(unknown.status).toBe(404);
    expect(unknown.headers.get('access-control-allow-origin')).toBe('*');
  });

  test('an OPTIONS request that is no preflight has a method that is not allowed', async () => {
    const { status, headers } = await fetch(`${laurel.appUrl}/v1/leaderboards`, { method: 'OPTIONS' });
    expect(status).toBe(405);
    expect(headers.get('allow')).toBe('GET, HEAD');
  });

  test('may not use the admin port', async () => {
    const { status, headers } = await preflight(`${laurel.adminUrl}/v1/metrics`, 'GET');
    expect(status).toBe(405);
    expect(headers.get('access-control-allow-origin')).toBeNull();
  });
});
