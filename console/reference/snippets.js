// Code that calls an operation, as the reference page shows it: with the values of the operation's examples.
import { clientSnippet } from './client-snippet.js';

/** A live stream never ends: what reads it is not a snippet. */
const STREAM = /\/live(\/ws)?$/;
const IDEMPOTENCY_KEY = 'event-4711';

/** The parameters that a call needs; a reference is resolved in `components`. */
const needed = (operation, components, place) =>
  (operation.parameters ?? [])
    .map((one) => (one.$ref ? components.parameters[one.$ref.split('/').at(-1)] : one))
    .filter((one) => one.in === place && one.required);

const text = (value) => (Array.isArray(value) ? value.join(',') : String(value));

/**
 * What a call consists of. `body` is undefined if the operation takes none.
 * @param {{ method: string, path: string, operation: object, components: object, origin: string }} of
 */
function callOf({ method, path, operation, components, origin }) {
  const examplesIn = (place) =>
    Object.fromEntries(needed(operation, components, place).map(({ name, example }) => [name, text(example)]));
  const values = examplesIn('path');
  const query = examplesIn('query');
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(values[name]));
  const search = new URLSearchParams(query);
  const content = operation.requestBody?.content['application/json'];
  const isIdempotent = operation.parameters?.some(({ $ref }) => $ref?.endsWith('/IdempotencyKey'));
  return {
    operationId: operation.operationId,
    origin,
    method: method.toUpperCase(),
    path: filled.replace('/v1', ''),
    values,
    query,
    url: `${origin}${filled}${search.size > 0 ? `?${search}` : ''}`,
    needsKey: operation.security?.length !== 0,
    idempotencyKey: isIdempotent ? IDEMPOTENCY_KEY : undefined,
    headers: {
      ...(isIdempotent && { 'Idempotency-Key': IDEMPOTENCY_KEY }),
      ...(content && { 'Content-Type': 'application/json' }),
    },
    body: content && (content.examples?.Example.value ?? {}),
    answers: Object.entries(operation.responses).some(([status, { content: one }]) => status < 300 && one),
  };
}

const quoted = (shell) => `'${shell.replaceAll("'", `'\\''`)}'`;

function curl({ method, url, needsKey, headers, body }) {
  const lines = [
    `curl -sS ${method === 'GET' || (method === 'POST' && body !== undefined) ? '' : `-X ${method} `}${quoted(url)}`,
    ...(needsKey ? ['-H "X-API-KEY: $LAUREL_KEY"'] : []),
    ...Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    ...(body === undefined ? [] : [`-d ${quoted(JSON.stringify(body))}`]),
  ];
  return lines.join(' \\\n  ');
}

const indented = (value, by) => JSON.stringify(value, null, 2).replaceAll('\n', `\n${by}`);
const headerLines = (headers, key) => [
  ...(key === null ? [] : [`    'X-API-KEY': ${key},`]),
  ...Object.entries(headers).map(([name, value]) => `    '${name}': '${value}',`),
];

function typescript({ method, url, needsKey, headers, body, answers }) {
  const lines = headerLines(headers, needsKey ? 'process.env.LAUREL_KEY!' : null);
  const options = [
    ...(method === 'GET' ? [] : [`  method: '${method}',`]),
    ...(lines.length > 0 ? ['  headers: {', ...lines, '  },'] : []),
    ...(body === undefined ? [] : [`  body: JSON.stringify(${indented(body, '  ')}),`]),
  ];
  return [
    `const response = await fetch('${url.replaceAll("'", '%27')}'${options.length > 0 ? ', {' : ');'}`,
    ...(options.length > 0 ? [...options, '});'] : []),
    'if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);',
    answers ? 'console.log(await response.json());' : 'console.log(response.status);',
  ].join('\n');
}

/** A value as Python writes it, which differs from JSON in three words. */
function literal(value, by = '') {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value !== 'object') return JSON.stringify(value);
  const inner = `${by}    `;
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  const items = Object.entries(value).map(
    ([name, one]) => `${inner}${Array.isArray(value) ? '' : `${JSON.stringify(name)}: `}${literal(one, inner)},`,
  );
  return items.length === 0 ? open + close : [open, ...items, `${by}${close}`].join('\n');
}

function python({ method, url, needsKey, headers, body, answers }) {
  const pairs = [
    ...(needsKey ? ['        "X-API-KEY": os.environ["LAUREL_KEY"],'] : []),
    ...Object.entries(headers).map(([name, value]) => `        "${name}": "${value}",`),
  ];
  return [
    `import json${needsKey ? ', os' : ''}, urllib.request`,
    '',
    ...(body === undefined ? [] : [`body = ${literal(body)}`]),
    'request = urllib.request.Request(',
    `    ${JSON.stringify(url)},`,
    ...(body === undefined ? [] : ['    data=json.dumps(body).encode(),']),
    ...(pairs.length > 0 ? ['    headers={', ...pairs, '    },'] : []),
    `    method="${method}",`,
    ')',
    'with urllib.request.urlopen(request) as response:',
    answers ? '    print(json.load(response))' : '    print(response.status)',
  ].join('\n');
}

/**
 * Snippets of an operation in curl, TypeScript (with the client, and without) and Python, in the form of `x-codeSamples`. The key is in the environment variable
 * `LAUREL_KEY`.
 * @param {{ method: string, path: string, operation: object, components: object, origin: string }} of
 * @returns {{ lang: string, label: string, source: string }[]} empty for live streams; the client is only for calls with a key
 */
export function snippetsOf(of) {
  if (STREAM.test(of.path)) return [];
  const call = callOf(of);
  return [
    { lang: 'shell', label: 'curl', source: curl(call) },
    ...(call.needsKey ? [{ lang: 'javascript', label: 'TypeScript client', source: clientSnippet(call) }] : []),
    { lang: 'javascript', label: 'TypeScript', source: typescript(call) },
    { lang: 'python', label: 'Python', source: python(call) },
  ];
}
