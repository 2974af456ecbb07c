import { request } from 'node:http';
import { connect } from 'node:net';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { describe, expect, onTestFinished, test } from 'vitest';
import { consolePage } from '../../src/processes/pages.ts';
import { startLaurel } from '../laurel.ts';
import { STUDY_APP } from '../study-app.ts';
import { opened } from '../stack/opened.ts';

const laurel = opened(() => startLaurel({ configuration: STUDY_APP }));

/** Sends a path unchanged, which `fetch` would normalise, and decodes nothing. */
const raw = (
  base: string,
  path: string,
  { method = 'GET', encoding = 'identity', etag = '' } = {},
): Promise<{ status: number; headers: Record<string, unknown>; body: Buffer }> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(base);
    const sent = request(
      {
        hostname,
        port,
        path,
        method,
        headers: { 'Accept-Encoding': encoding, ...(etag && { 'If-None-Match': etag }) },
        agent: false,
      },
      (res) => {
        const parts: Buffer[] = [];
        res.on('data', (part: Buffer) => parts.push(part));
        res.on('end', () => resolve({ status: res.statusCode!, headers: res.headers, body: Buffer.concat(parts) }));
      },
    );
    sent.on('error', reject).end();
  });

const asset = async (): Promise<string> =>
  /src="(\/console\/assets\/[^"]+\.js)"/.exec((await raw(laurel.adminUrl, '/console')).body.toString())![1]!;

describe('the console', () => {
  test('is one document for every view, which browsers revalidate each time and which loads nothing from elsewhere', async () => {
    const first = await raw(laurel.adminUrl, '/console');
    expect(first.body.toString()).toContain('<div id="root">');
    for (const path of ['/console/', '/console/users/a%2Fb.js', '/console/..%2f..%2fetc/passwd'])
      expect((await raw(laurel.adminUrl, path)).body.equals(first.body)).toBe(true);
    expect(first.headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-cache',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
    });
    const policy = String(first.headers['content-security-policy']);
    for (const part of [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      // Style attributes of e-mails in a preview.
      "style-src-attr 'unsafe-inline'",
      "connect-src 'self'",
      // Badges, and pictures in previews of e-mails, are the only content from elsewhere.
      "img-src 'self' data: https:",
      "frame-ancestors 'none'",
    ])
      expect(policy.split('; ')).toContain(part);
    expect(policy.replaceAll(/(?:img-src|style-src-attr) [^;]*/g, '')).not.toMatch(/unsafe|https?:/);
  });

  test('its files are cached for ever, and are sent as small as the browser accepts', async () => {
    const path = await asset();
    const plain = await raw(laurel.adminUrl, path);
    expect(plain.headers).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
      vary: 'Accept-Encoding',
    });
    const gzip = await raw(laurel.adminUrl, path, { encoding: 'gzip' });
    const brotli = await raw(laurel.adminUrl, path, { encoding: 'gzip, deflate, br' });
    expect([gzip.headers['content-encoding'], brotli.headers['content-encoding']]).toEqual(['gzip', 'br']);
    expect(gunzipSync(gzip.body).equals(plain.body)).toBe(true);
    expect(brotliDecompressSync(brotli.body).equals(plain.body)).toBe(true);
    expect(brotli.body.length).toBeLessThan(gzip.body.length);
    const head = await raw(laurel.adminUrl, path, { method: 'HEAD', encoding: 'br' });
    expect([head.status, head.body.length, head.headers['content-length']]).toEqual([
      200,
      0,
      String(brotli.body.length),
    ]);
  });

  test('a path names a file of its table or none: no other file is reachable', async () => {
    const paths = [
      '/console/assets/nothing.js',
      '/console/assets/',
      '/console/assets/../../../package.json',
      '/console/assets/..%2f..%2f..%2fpackage.json',
      '/console/assets/%2e%2e/%2e%2e/package.json',
      `${await asset()}.br`,
    ];
    for (const path of paths) {
      const { status, body } = await raw(laurel.adminUrl, path);
      // What a browser would normalise is a view of the console at most.
      expect([path, status === 404 || body.toString().includes('<div id="root">')]).toEqual([path, true]);
      expect(body.toString()).not.toContain('devDependencies');
    }
    expect((await raw(laurel.adminUrl, '/console/assets/nothing.js')).status).toBe(404);
    expect((await raw(laurel.adminUrl, '/console', { method: 'POST' })).status).toBe(405);
  });

  test('is on the admin port only', async () => {
    for (const path of ['/console', '/console/', await asset()])
      expect((await raw(laurel.appUrl, path)).status).toBe(404);
  });

  test('has at most 250 KB for its first screen', () => {
    const page = consolePage()!;
    const html = page.document.body.toString();
    const loaded = page.assets.filter(({ path }) => html.includes(`"${path}"`));
    // The overview, with all its imports.
    const screen = new Set(page.assets.filter(({ path }) => path.includes('/assets/overview-')));
    for (const one of screen)
      for (const asset of page.assets)
        if (one.path.endsWith('.js') && one.body.includes(`./${asset.path.split('/').at(-1)!}`)) screen.add(asset);
    const styles = page.assets.filter(({ path }) => /\/assets\/chart-.*\.css/.test(path));
    const bytes = [...new Set([...loaded, ...screen, ...styles])].reduce(
      (sum, { brotli, body }) => sum + (brotli ?? body).length,
      0,
    );
    expect(loaded.length).toBeGreaterThan(3);
    expect(bytes).toBeLessThan(250_000);
  });
});

test.each(['admin', 'app'] as const)('the reference page is on the %s port, with files of its own', async (surface) => {
  const base = surface === 'admin' ? laurel.adminUrl : laurel.appUrl;
  const { status, body, headers } = await raw(base, '/reference');
  expect([status, headers['cache-control']]).toEqual([200, 'no-cache']);
  expect(String(headers['content-security-policy'])).toContain("script-src 'self';");
  const files = [...body.toString().matchAll(/(?:src|href)="(\/reference\/assets\/[^"]+)"/g)].map(([, path]) => path!);
  expect(files).toHaveLength(4);
  for (const path of files) expect((await raw(base, path)).status).toBe(200);
});

describe('the Application API on the admin port', () => {
  test('answers admin keys and sessions below /application like its own port', async () => {
    await laurel.app.post('/v1/metrics/flips/event', { user: { id: 'ada' }, value: 3 });
    const path = '/v1/users/ada/metrics/flips';
    const own = await laurel.app.get(path);
    expect((await laurel.admin.get(`/application${path}`)).body).toEqual(own.body);
    const { headers } = await laurel.admin.post('/v1/session', { key: laurel.adminKey }, { key: null });
    const Cookie = headers.get('set-cookie')!.split(';')[0]!;
    expect((await laurel.admin.get(`/application${path}`, { key: null, headers: { Cookie } })).status).toBe(200);
    const event = { user: { id: 'ada' }, value: 1 };
    const without = await laurel.admin.post('/application/v1/metrics/flips/event', event, {
      key: null,
      headers: { Cookie },
    });
    expect(without.status).toBe(403);
  });

  test('refuses application keys', async () => {
    const [{ key }] = (await laurel.admin.post('/v1/application-api-keys', [{ userId: 'ada' }])).body.created;
    expect((await laurel.admin.get('/application/v1/users/ada', { key })).status).toBe(403);
  });
});

describe('shared static content', () => {
  const FILES = [
    ['appUrl', '/v1/openapi'],
    ['adminUrl', '/v1/openapi'],
    ['adminUrl', '/application/v1/openapi'],
    ['appUrl', '/reference'],
    ['adminUrl', '/console'],
  ] as const;

  test.each(FILES)('%s%s is compressed, and sent once to a client that caches it', async (base, path) => {
    const plain = await raw(laurel[base], path);
    const gzip = await raw(laurel[base], path, { encoding: 'gzip' });
    const brotli = await raw(laurel[base], path, { encoding: 'deflate;q=0.5, gzip, br' });
    expect([gzip.headers['content-encoding'], gunzipSync(gzip.body).equals(plain.body)]).toEqual(['gzip', true]);
    expect(brotli.headers['content-encoding']).toBe('br');
    expect(brotliDecompressSync(brotli.body).equals(plain.body)).toBe(true);
    expect(plain.headers).toMatchObject({ vary: 'Accept-Encoding', 'cache-control': 'no-cache' });
    expect(plain.headers['x-content-type-options']).toBe('nosniff');
    expect(plain.headers['content-length']).toBe(String(plain.body.length));
    for (const encoding of ['identity', 'br;q=0', 'br; q=0.0, gzip;q=0', 'brotli', 'xbr'])
      expect([encoding, (await raw(laurel[base], path, { encoding })).headers['content-encoding']]).toEqual([
        encoding,
        undefined,
      ]);
    const etag = String(plain.headers['etag']);
    expect([etag, gzip.headers['etag'], brotli.headers['etag']]).toEqual(Array(3).fill(expect.stringMatching(/^W\/"/)));
    for (const sent of [etag, etag.slice(2), `"x", ${etag}`, '*'])
      for (const method of ['GET', 'HEAD']) {
        const known = await raw(laurel[base], path, { encoding: 'br', etag: sent, method });
        expect([sent, known.status, known.body.length, known.headers['etag']]).toEqual([sent, 304, 0, etag]);
      }
    expect((await raw(laurel[base], path, { etag: '"x"' })).status).toBe(200);
  });

  test('answers 429 to an address that requests it all the time', async () => {
    const limited = await startLaurel({ rateLimits: { filesPerSecond: 1 }, trustedProxies: '127.0.0.1' });
    onTestFinished(() => limited.close());
    const ask = (base: string, path: string, from: string) =>
      fetch(`${base}${path}`, { headers: { 'X-Forwarded-For': from } });
    for (const [base, path] of [
      [limited.appUrl, '/v1/openapi'],
      [limited.adminUrl, '/console'],
    ] as const) {
      const from = path === '/console' ? '198.51.100.2' : '198.51.100.1';
      const answers = await Promise.all(Array.from({ length: 40 }, () => ask(base, path, from)));
      const refused = answers.filter(({ status }) => status === 429);
      expect(refused.length).toBeGreaterThan(20);
      expect(Number(refused[0]!.headers.get('retry-after'))).toBeGreaterThan(0);
      expect((await ask(base, path, '198.51.100.9')).status).toBe(200);
      expect((await ask(base, '/healthz', from)).status).toBe(200);
    }
  });

  test('allocates nothing for a client that requests again and again and reads nothing', async () => {
    const connection = connect(Number(new URL(laurel.adminUrl).port), '127.0.0.1');
    connection.pause();
    const request = 'GET /v1/openapi HTTP/1.1\r\nHost: x\r\n\r\n';
    const before = process.memoryUsage().rss;
    connection.write(request.repeat(1_000));
    const closed = new Promise((resolve) => connection.once('close', resolve).once('error', () => undefined));
    await raw(laurel.adminUrl, '/healthz');
    // 1,000 answers are 700 MB.
    expect(process.memoryUsage().rss - before).toBeLessThan(200_000_000);
    connection.resume();
    await closed;
  });
});
