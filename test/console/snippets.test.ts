import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { transformWithOxc } from 'vite';
import { describe, expect, test } from 'vitest';
import { createLaurel, type LaurelOptions } from '../../clients/typescript/src/index.ts';
import { snippetsOf } from '../../console/reference/snippets.js';
import { adminOperations, applicationOperations } from '../../src/operations/index.ts';
import { openapiDocument } from '../../src/operations/openapi.ts';
import { PACKAGE_ROOT } from '../../src/package-root.ts';
import { hasProgram } from '../stack/has-program.ts';

const run = promisify(execFile);
const ORIGIN = 'http://laurel.test:8080';
const KEY = 'key.secret';

/** A request as a snippet makes it. */
interface Sent {
  method: string;
  url: string;
  headers: Record<string, string>;
  body: unknown;
}

interface Documented {
  operationId: string;
  security?: unknown[];
  parameters?: { $ref?: string }[];
  requestBody?: { content: { 'application/json': { examples?: { Example: { value: unknown } } } } };
}

const all = ([adminOperations, applicationOperations] as const).flatMap((operations) => {
  const { paths, components } = JSON.parse(JSON.stringify(openapiDocument(operations[0]!.surface, operations))) as {
    paths: Record<string, Record<string, Documented>>;
    components: object;
  };
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      method,
      path,
      operation,
      snippets: snippetsOf({ method, path, operation, components, origin: ORIGIN }),
    })),
  );
});
const called = all.filter(({ snippets }) => snippets.length > 0);
const sources = (label: string): string[] =>
  called.flatMap(({ snippets }) => snippets.filter((one) => one.label === label).map(({ source }) => source));

/** Headers by their names in lower case: the libraries write them differently. */
const request = ({ headers, ...rest }: Sent): Sent => ({
  ...rest,
  headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
});

/** What an operation's snippets have to send, from its document. */
function wanted({ method, operation: { security, parameters, requestBody } }: (typeof called)[number]) {
  const isIdempotent = parameters?.some(({ $ref }) => $ref === '#/components/parameters/IdempotencyKey') ?? false;
  return {
    method: method.toUpperCase(),
    url: expect.stringMatching(/^http:\/\/laurel\.test:8080\/v1\/[^{}]*$/),
    headers: {
      ...(security?.length !== 0 && { 'x-api-key': KEY }),
      ...(isIdempotent && { 'idempotency-key': 'event-4711' }),
      ...(requestBody && { 'content-type': 'application/json' }),
    },
    body: requestBody && (requestBody.content['application/json'].examples?.Example.value ?? {}),
  };
}

test('every operation has snippets, except live streams, which never end', () => {
  const without = all.filter(({ snippets }) => snippets.length === 0).map(({ operation }) => operation.operationId);
  expect(without).toEqual(['admin_live_get', 'admin_live_ws', 'live_get', 'live_ws']);
  expect(called.length).toBeGreaterThan(100);
});

const IMPORT = "import { createLaurel } from 'laurel-client';\n";

/** The requests of the TypeScript snippets, each run with a `fetch` that only notes what it is asked for. */
async function sentByTypeScript(label: 'TypeScript' | 'TypeScript client'): Promise<Sent[]> {
  const sent: Sent[] = [];
  const noting = async (
    url: string,
    init: { method?: string; headers?: Record<string, string>; body?: string } = {},
  ) => {
    const { method = 'GET', headers = {}, body } = init;
    sent.push({ method, url, headers, body: body === undefined ? undefined : JSON.parse(body) });
    return Response.json({});
  };
  const AsyncFunction = (async () => {}).constructor as new (...of: string[]) => (...of: unknown[]) => Promise<void>;
  const create = (options: LaurelOptions) => createLaurel({ ...options, fetch: noting as typeof fetch });
  for (const source of sources(label)) {
    const { code } = await transformWithOxc(source.replace(IMPORT, ''), 'snippet.ts');
    const given = {
      fetch: noting,
      createLaurel: create,
      process: { env: { LAUREL_KEY: KEY } },
      console: { log: () => undefined },
    };
    await new AsyncFunction(...Object.keys(given), code)(...Object.values(given));
  }
  return sent;
}

/** The requests of the curl snippets, run by a shell in which `curl` only prints its arguments. */
async function sentByCurl(): Promise<Sent[]> {
  const script = ['curl() { printf "%s\\0" "$@"; printf "\\1\\0"; }', ...sources('curl')].join('\n');
  const { stdout } = await run('bash', ['-euc', script], { env: { ...process.env, LAUREL_KEY: KEY } });
  const calls = stdout.split('\0\u0001\0'.slice(1)).filter(Boolean);
  return calls.map((call) => {
    const [silent, ...rest] = call.split('\0').filter((one) => one !== '');
    const sent: Sent = { method: '', url: '', headers: {}, body: undefined };
    while (rest.length > 0) {
      const one = rest.shift()!;
      if (one === '-X') sent.method = rest.shift()!;
      else if (one === '-d') sent.body = JSON.parse(rest.shift()!);
      else if (one === '-H') {
        const [name, value] = rest.shift()!.split(/: (.*)/s) as [string, string];
        sent.headers[name] = value;
      } else sent.url = one;
    }
    expect(silent).toBe('-sS');
    // As curl decides.
    return { ...sent, method: sent.method || (sent.body === undefined ? 'GET' : 'POST') };
  });
}

const PYTHON = `
import json, sys, io, urllib.request
sent = []
def noting(request):
    body = None if request.data is None else json.loads(request.data)
    sent.append({"method": request.get_method(), "url": request.full_url, "headers": dict(request.header_items()), "body": body, "hasBody": request.data is not None})
    answer = io.StringIO("{}")
    answer.status = 200
    return answer
urllib.request.urlopen = noting
out, sys.stdout = sys.stdout, io.StringIO()
for source in json.load(sys.stdin):
    exec(source, {})
json.dump(sent, out)
`;

async function sentByPython(): Promise<Sent[]> {
  const child = run('python3', ['-c', PYTHON], { env: { ...process.env, LAUREL_KEY: KEY }, maxBuffer: 1e8 });
  child.child.stdin!.end(JSON.stringify(sources('Python')));
  const sent = JSON.parse((await child).stdout) as (Sent & { hasBody: boolean })[];
  return sent.map(({ hasBody, body, ...rest }) => ({ ...rest, body: hasBody ? body : undefined }));
}

describe('the snippets of each operation send what its example has', () => {
  const expected = called.map(wanted);
  const urls = (requests: Sent[]): string[] => requests.map(({ url }) => url);

  test('curl', async () => {
    expect((await sentByCurl()).map(request)).toEqual(expected);
  });

  test('TypeScript', async () => {
    const sent = await sentByTypeScript('TypeScript');
    expect(sent.map(request)).toEqual(expected);
    expect(urls(sent)).toEqual(urls(await sentByCurl()));
  });

  test('the TypeScript client, for every operation that needs a key', async () => {
    const sent = await sentByTypeScript('TypeScript client');
    const withKey = expected.filter(({ headers }) => 'x-api-key' in headers);
    expect(sent.map(request)).toEqual(withKey);
    const fromCurl = (await sentByCurl()).filter(({ headers }) => 'X-API-KEY' in headers);
    expect(urls(sent)).toEqual(urls(fromCurl));
  });

  test('those of the TypeScript client have correct types', async () => {
    const folder = await mkdtemp(join(PACKAGE_ROOT, 'node_modules', '.laurel-test-snippets-'));
    const calls = sources('TypeScript client').map((source) => `{\n${source.replace(IMPORT, '')}\n}`);
    await writeFile(join(folder, 'snippets.mts'), [IMPORT, ...calls].join('\n'));
    const compilerOptions = {
      strict: true,
      module: 'nodenext',
      target: 'es2022',
      noEmit: true,
      allowImportingTsExtensions: true,
      types: ['node'],
      lib: ['es2022', 'dom', 'dom.asynciterable'],
      paths: { 'laurel-client': [join(PACKAGE_ROOT, 'clients/typescript/src/index.ts')] },
    };
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['snippets.mts'] }));
    const compiler = join(PACKAGE_ROOT, 'node_modules/typescript/bin/tsc');
    await run(process.execPath, [compiler, '-p', folder]).catch(({ stdout }) => expect(stdout).toBe(''));
    await rm(folder, { recursive: true });
  });

  test('Python', async (context) => {
    context.skip(!(await hasProgram('python3')), 'there is no python3');
    const sent = await sentByPython();
    expect(sent.map(request)).toEqual(expected);
    expect(urls(sent)).toEqual(urls(await sentByCurl()));
  });
});
