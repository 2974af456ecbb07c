// Pages of the operations, from the OpenAPI documents: what to send, what comes back, and code that calls it. They are
// Markdown, like the other documents of the site, and exist only there.
import { posix } from 'node:path';
import { snippetsOf } from '../../console/reference/snippets.js';

const FOLDER = 'docs/reference';
const APIS = {
  application: { title: 'Application API', origin: 'http://localhost:8080', port: 8080 },
  admin: { title: 'Admin API', origin: 'http://localhost:8081', port: 8081 },
};
const SNIPPETS = ['curl', 'TypeScript client'];

const code = (text) => (text.includes('`') ? `\`\` ${text} \`\`` : `\`${text}\``);
const value = (any) => code(JSON.stringify(any));
const numbers = new Intl.NumberFormat('en-US', { maximumFractionDigits: 20 });
const number = (any) => numbers.format(any);
const block = (lang, text) => `\`\`\`${lang}\n${text}\n\`\`\``;
const json = (any) => block('json', JSON.stringify(any, null, 2));

/** A cell is one line, in which a bar is not the end. */
const cell = (text) => text.replaceAll(/\s*\n\s*/g, ' ').replaceAll('|', '\\|');
const table = (head, rows) =>
  [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.map(cell).join(' | ')} |`).join('\n');

/** A range in words; `null` if there is no bound. */
function range(least, most, unit) {
  if (least === undefined && most === undefined) return null;
  if (least === undefined) return `at most ${number(most)}${unit}`;
  if (most === undefined) return `at least ${number(least)}${unit}`;
  return least === most ? `${number(least)}${unit}` : `${number(least)} to ${number(most)}${unit}`;
}

const FORMATS = { 'date-time': 'date and time', date: 'date', uuid: 'UUID', uri: 'URL', email: 'e-mail address' };

/** Patterns are left out: the description says in words what they demand. */
const textType = ({ format, minLength, maxLength }) => [
  FORMATS[format] ?? format ?? 'text',
  range(minLength || undefined, maxLength, ' characters'),
];

function numberType({ type, minimum, maximum, exclusiveMinimum, exclusiveMaximum }) {
  return [
    type === 'integer' ? 'whole number' : 'number',
    range(minimum, maximum, ''),
    exclusiveMinimum === undefined ? null : `more than ${number(exclusiveMinimum)}`,
    exclusiveMaximum === undefined ? null : `less than ${number(exclusiveMaximum)}`,
  ];
}

/** The values of a schema of an object with any keys; `undefined` if the schema has none. */
const valuesOf = ({ additionalProperties, patternProperties }) =>
  typeof additionalProperties === 'object' ? additionalProperties : Object.values(patternProperties ?? {})[0];

/** What a value is, in words. */
function typeOf(schema) {
  const { type, anyOf, enum: values, items } = schema;
  if (schema.const !== undefined) return value(schema.const);
  if (values) return values.map(value).join(', ');
  if (anyOf) return [...new Set(anyOf.map(typeOf))].join(' or ');
  if (Array.isArray(type)) return type.map((one) => typeOf({ ...schema, type: one })).join(' or ');
  const named = {
    string: () => textType(schema),
    number: () => numberType(schema),
    integer: () => numberType(schema),
    boolean: () => ['`true` or `false`'],
    null: () => ['`null`'],
    array: () => [
      items ? `list of ${typeOf(items)}` : 'list',
      range(schema.minItems, schema.maxItems, ' items'),
      schema.uniqueItems ? 'without repetitions' : null,
    ],
    object: () => {
      const inner = valuesOf(schema);
      return [
        inner ? `object with values: ${typeOf(inner)}` : 'object',
        range(schema.minProperties, schema.maxProperties, ' fields'),
      ];
    },
  }[type];
  return named ? named().filter(Boolean).join(', ') : 'any value';
}

/** What distinguishes a variant from the others: its first constant field. */
function variantName({ properties = {} }) {
  const [name, { const: is }] = Object.entries(properties).find(([, one]) => one.const !== undefined) ?? ['', {}];
  return name === '' ? '' : ` (${name}: ${JSON.stringify(is)})`;
}

/**
 * The fields of a schema at every depth, in the order of the schema: `{ name, schema, isRequired }`. Names are paths, `list[].field`
 * and `object.*.field`.
 */
function fieldsOf(schema, path = '') {
  const { properties, items, anyOf } = schema;
  if (anyOf) {
    const variants = anyOf.filter((one) => one.properties);
    return variants.flatMap((one) => fieldsOf(one, variants.length > 1 ? `${path}${variantName(one)}` : path));
  }
  if (items) return fieldsOf(items, `${path}[]`);
  const required = new Set(schema.required);
  const own = Object.entries(properties ?? {}).flatMap(([key, one]) => {
    const name = path === '' ? key : `${path}.${key}`;
    return [{ name, schema: one, isRequired: required.has(key) }, ...fieldsOf(one, name)];
  });
  const inner = valuesOf(schema);
  return inner ? [...own, ...fieldsOf(inner, path === '' ? '*' : `${path}.*`)] : own;
}

const describe = ({ description = '', default: byDefault }) =>
  [description, byDefault === undefined ? '' : `Default: ${value(byDefault)}.`].filter(Boolean).join(' ');

/** A table of fields. `mark` says of a field whether it is required, or may be missing. */
function fieldTable(fields, mark) {
  const rows = fields.map((field) => [
    code(field.name),
    `${typeOf(field.schema)}${mark(field)}`,
    describe(field.schema),
  ]);
  return table(['Field', 'Type', 'Meaning'], rows);
}

const required = ({ isRequired }) => (isRequired ? ', **required**' : '');
const optional = ({ isRequired }) => (isRequired ? '' : ', may be missing');

/** Examples of JSON content; the further ones with their titles and requests. */
const exampleTexts = ({ Example: example, ...further } = {}) => [
  example === undefined ? '' : json(example.value),
  ...Object.entries(further).flatMap(([title, one]) => [`${title}, ${code(one.description)}:`, json(one.value)]),
];

/** The fields of JSON content, or its type if it has none, and its examples. */
function contentText({ schema, examples }, { mark, withExample }) {
  const fields = fieldsOf(schema);
  const type = schema.type === 'object' ? '' : `A ${typeOf(schema)}.`;
  return [
    type,
    ...(withExample ? exampleTexts(examples) : []),
    fields.length > 0 ? fieldTable(fields, mark) : '',
  ].filter(Boolean);
}

const PLACES = { path: 'in the path', query: 'in the query', header: 'header' };

function parametersText({ parameters = [] }, components) {
  const resolved = parameters.map((one) => (one.$ref ? components.parameters[one.$ref.split('/').at(-1)] : one));
  if (resolved.length === 0) return [];
  const rows = resolved.map(({ name, in: place, required: isRequired, schema, description }) => [
    code(name),
    `${PLACES[place]}, ${typeOf(schema)}${required({ isRequired })}`,
    describe({ ...schema, description }),
  ]);
  return ['## Parameters', table(['Name', 'Type', 'Meaning'], rows)];
}

/** `bodiless`: the text for an answer without JSON. */
function answersText({ responses }, bodiless) {
  return Object.entries(responses)
    .filter(([status]) => status < 300)
    .flatMap(([status, { content }]) => [
      `## Answer ${status}`,
      ...(content?.['application/json']
        ? contentText(content['application/json'], { mark: optional, withExample: true })
        : [bodiless]),
    ]);
}

function errorsText({ responses }, components, errorsPage) {
  const rows = Object.entries(responses)
    .filter(([status]) => status >= 300)
    .map(([status, one]) => [status, (one.$ref ? components.responses[one.$ref.split('/').at(-1)] : one).description]);
  return ['## Errors', table(['Status', 'Meaning'], rows), `[Errors](${errorsPage}) lists the codes, and what to do.`];
}

/** What the search knows of an operation: how it is called, what it is for, and the fields that it takes. */
function searchText({ method, path, operation }) {
  const schema = operation.requestBody?.content['application/json'].schema;
  const fields = schema ? fieldsOf(schema).map(({ name }) => name.split('.').at(-1)) : [];
  const parameters = (operation.parameters ?? []).flatMap(({ name }) => name ?? []);
  return [`${method.toUpperCase()} ${path}`, operation.description, ...new Set([...parameters, ...fields])]
    .filter(Boolean)
    .join(' ');
}

/** The page of one operation. */
function operationPage({ surface, method, path, operation, components, page }) {
  const { title, origin, port } = APIS[surface];
  const snippets = snippetsOf({ method, path, operation, components, origin }).filter(({ label }) =>
    SNIPPETS.includes(label),
  );
  const content = operation.requestBody?.content['application/json'];
  const to = (document) => posix.relative(posix.dirname(page), document);
  const parts = [
    `# ${operation.summary}`,
    `${code(`${method.toUpperCase()} ${path}`)} of the ${title}, port ${port}${operation.security?.length === 0 ? ', without an API key' : ''}.`,
    operation.deprecated ? 'Deprecated.' : '',
    operation.description ?? '',
    ...(snippets.length > 0 ? ['## Example'] : []),
    ...snippets.flatMap(({ lang, label, source }) => [`${label}:`, block(lang === 'shell' ? 'sh' : 'ts', source)]),
    ...parametersText(operation, components),
    ...(content
      ? [
          '## Body',
          operation.requestBody.description,
          ...contentText(content, { mark: required, withExample: snippets.length === 0 }),
        ]
      : []),
    // Only what streams has no snippets.
    ...answersText(
      operation,
      snippets.length > 0 ? 'Without a body.' : `A stream: [Live streams](${to('docs/live.md')}).`,
    ),
    ...errorsText(operation, components, to('docs/errors.md')),
  ];
  return parts.filter(Boolean).join('\n\n');
}

/** The page of a message to webhooks. */
function messagePage(type, { post: { summary, description, requestBody } }) {
  const content = requestBody.content['application/json'];
  return [
    `# ${code(type)}`,
    summary,
    description ?? '',
    `[Webhooks](../../webhooks.md) describes how messages are signed and repeated.`,
    '## Body',
    ...contentText(content, { mark: optional, withExample: true }),
  ]
    .filter(Boolean)
    .join('\n\n');
}

/** A subject, the first segment of a path, as a title. */
const subjectTitle = (subject) => {
  const words = subject
    .replaceAll('-', ' ')
    .replace(/\bapi\b/, 'API')
    .replace('openapi', 'openAPI');
  return words[0].toUpperCase() + words.slice(1);
};

const list = (items) => items.map(([title, link, note]) => `- [${title}](${link})${note}`).join('\n');

const SCHEMAS = '#/components/schemas/';

/** A part of a document with the named schemas in place of references to them. */
function inPlace(part, schemas) {
  if (Array.isArray(part)) return part.map((one) => inPlace(one, schemas));
  if (typeof part !== 'object' || part === null) return part;
  const { $ref } = part;
  const whole = $ref?.startsWith(SCHEMAS) ? { ...schemas[$ref.slice(SCHEMAS.length)], ...part, $ref: undefined } : part;
  return Object.fromEntries(Object.entries(whole).map(([key, one]) => [key, inPlace(one, schemas)]));
}

/** The pages of one API: an index, one for each subject, and one for each operation. */
function apiPages(surface, { info, components: named, ...document }) {
  const { schemas, ...components } = named;
  const { paths, webhooks } = inPlace({ paths: document.paths, webhooks: document.webhooks }, schemas);
  const folder = `${FOLDER}/${surface}`;
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ surface, method, path, operation, components })),
  );
  const bySubject = new Map();
  for (const one of operations) {
    const [subject] = one.operation.tags;
    bySubject.set(subject, [...(bySubject.get(subject) ?? []), one]);
  }
  const subjects = [...bySubject].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const ownPages = subjects.flatMap(([subject, ofSubject]) => {
    const pages = ofSubject.map((one) => {
      const page = `${folder}/${subject}/${one.operation.operationId}.md`;
      return { path: page, text: operationPage({ ...one, page }), search: searchText(one) };
    });
    const items = ofSubject.map(({ method, path, operation }) => [
      operation.summary,
      `${operation.operationId}.md`,
      `: ${code(`${method.toUpperCase()} ${path}`)}`,
    ]);
    return [
      { path: `${folder}/${subject}/README.md`, text: `# ${subjectTitle(subject)}\n\n${list(items)}\n` },
      ...pages,
    ];
  });
  const messages = Object.entries(webhooks ?? {});
  const messagePages = messages.map(([type, message]) => ({
    path: `${FOLDER}/webhooks/${type}.md`,
    text: messagePage(type, message),
    search: [message.post.summary, message.post.description].filter(Boolean).join(' '),
  }));
  const messageIndex = {
    path: `${FOLDER}/webhooks/README.md`,
    text: `# Messages to webhooks\n\n${list(messages.map(([type, { post }]) => [code(type), `${type}.md`, `: ${post.summary}`]))}\n`,
  };
  const index = {
    path: `${folder}/README.md`,
    text: `# ${info.title}\n\n${info.description}\n\n## Subjects\n\n${list(
      subjects.map(([subject, { length }]) => [subjectTitle(subject), `${subject}/README.md`, ` (${length})`]),
    )}\n`,
  };
  return {
    documents: [index, ...ownPages, ...(messages.length > 0 ? [messageIndex, ...messagePages] : [])],
    codeLinks: operations.map(({ method, path, operation }) => [
      `${method.toUpperCase()} ${path}`,
      `${folder}/${operation.tags[0]}/${operation.operationId}.md`,
    ]),
  };
}

/**
 * The pages of all operations and of all messages to webhooks.
 * @param specifications the OpenAPI documents by API: `application`, `admin`
 * @returns `documents`, `{ path, text }`; `pages`, the paths of the pages that the navigation lists, by API; and `codeLinks`, the page
 *   of `GET /v1/…` and others. Where both APIs have it, that of the Application API
 */
export function operationDocuments(specifications) {
  const made = Object.entries(specifications).map(([surface, document]) => [surface, apiPages(surface, document)]);
  const listed = ({ documents }) => documents.map(({ path }) => path).filter((path) => path.endsWith('/README.md'));
  return {
    documents: made.flatMap(([, { documents }]) => documents),
    pages: Object.fromEntries(made.map(([surface, one]) => [surface, listed(one)])),
    codeLinks: new Map(made.toReversed().flatMap(([, { codeLinks }]) => codeLinks)),
  };
}
