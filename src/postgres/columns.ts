/** Columns of rows, declared once: the statements that write and read them derive from it, and so do the values. */
import type { PoolClient } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import type { Decimal } from '../domain/decimal.ts';
import { dateOf, isoTime } from '../domain/periods.ts';
import { copiedText, listOf, numericText, textsOf } from './row-text.ts';
import { storableJson } from './storable-json.ts';

/** What a property of a row has for each type of a column. */
interface Values {
  smallint: number | null;
  int: number | null;
  bigint: number | null;
  float8: number | null;
  boolean: boolean | null;
  /** In 32 hex digits or with hyphens. */
  uuid: string | null;
  /** NUL is stored as U+FFFD. */
  text: string | null;
  /** JSON text. */
  jsonb: string | null;
  numeric: Decimal | null;
  /** Epoch ms, for a `timestamptz`. */
  time: number | null;
  /** An epoch day, for a `date`. */
  day: number | null;
  /** Only for COPY. An empty list is stored as NULL. */
  'int[]': readonly number[];
}

type Type = keyof Values;
type Fitting<Value> = { [T in Type]: [Value] extends [Values[T] | undefined] ? T : never }[Type];
/** Properties with their types. The column of `tenantNo` is `tenant_no`, unless a name stands beside the type. */
type Declared<Row> = {
  readonly [Key in keyof Row & string]?: Fitting<Row[Key]> | readonly [Fitting<Row[Key]>, string];
};

interface Column {
  property: string;
  name: string;
  type: Type;
}

/** The value of a row as text for COPY, not escaped. */
const COPIED: { [T in Type]?: (value: NonNullable<Values[T]>) => string | null } = {
  jsonb: storableJson,
  numeric: numericText,
  time: isoTime,
  day: dateOf,
  'int[]': (values) => (values.length === 0 ? null : listOf(values)),
};

/** The values of a column as one parameter. */
const ARRAYS: { [T in Type]?: (values: readonly Values[T][]) => string } = {
  text: textsOf,
  jsonb: (values) => textsOf(values.map((value) => value && storableJson(value))),
  numeric: (values) => listOf(values.map((value) => value && numericText(value))),
};

/** Types whose parameters and results are of another type. */
const PASSED: { [T in Type]?: { type: string; stored: (value: string) => string } } = {
  time: { type: 'bigint', stored: (value) => `to_timestamp(${value} / 1000.0)` },
  day: { type: 'int', stored: (value) => `DATE '1970-01-01' + ${value}` },
};

/** An expression that reads a column as the property's value. */
const READ: { [T in Type]?: (name: string) => string } = {
  uuid: (name) => `replace(${name}::text, '-', '')`,
  numeric: (name) => `${name}::text`,
  time: (name) => `epoch_ms(${name})`,
  day: (name) => `${name} - DATE '1970-01-01'`,
};

export interface Columns<Row> {
  /** A select list. */
  readonly selected: string;
  /** Adds rows by COPY, in the client's transaction. */
  copyInto: (client: PoolClient, table: string, rows: readonly Row[]) => Promise<void>;
  /** An INSERT of rows, with `arrays` as its last parameters. `fixed`: columns with one value for all rows, as the first parameters. */
  insertInto: (table: string, fixed?: readonly string[]) => string;
  /** The rows as `unnest(…) AS <alias>`. Times are epoch ms in it, days epoch days. `first`: the number of the first array's parameter. */
  unnest: (alias: string, first?: number, ordinal?: string) => string;
  /** A parameter for each column. */
  arrays: (rows: readonly Row[]) => unknown[];
}

export function columns<Row extends object>(declared: Declared<Row>): Columns<Row> {
  const all = Object.entries<string | readonly [string, string]>(declared as Record<string, string>).map(columnOf);
  const names = all.map(({ name }) => name).join(', ');

  function unnest(alias: string, first = 1, ordinal?: string): string {
    const arrays = all.map(({ type }, index) => `$${first + index}::${PASSED[type]?.type ?? type}[]`).join(', ');
    return ordinal === undefined
      ? `unnest(${arrays}) AS ${alias} (${names})`
      : `unnest(${arrays}) WITH ORDINALITY AS ${alias} (${names}, ${ordinal})`;
  }

  return {
    selected: all.map(({ property, name, type }) => `${READ[type]?.(name) ?? name} AS "${property}"`).join(', '),
    copyInto: async (client, table, rows) => {
      if (rows.length > 0) await copy(client, `COPY ${table} (${names}) FROM STDIN`, copied(all, rows));
    },
    insertInto: (table, fixed = []) => {
      const stored = all.map(({ name, type }) => PASSED[type]?.stored(name) ?? name);
      const values = [...fixed.map((_, index) => `$${index + 1}`), ...stored].join(', ');
      return `
  INSERT INTO ${table} (${[...fixed, names].join(', ')})
  SELECT ${values} FROM ${unnest('new', fixed.length + 1)}`;
    },
    unnest,
    arrays: (rows) =>
      all.map(({ property, type }) => {
        const toParameter = (ARRAYS[type] ?? listOf) as (values: readonly unknown[]) => string;
        return toParameter(rows.map((row) => (row as Record<string, unknown>)[property] ?? null));
      }),
  };
}

function columnOf([property, declared]: [string, string | readonly [string, string]]): Column {
  const [type, name] = typeof declared === 'string' ? [declared, snakeCase(property)] : declared;
  return { property, name, type: type as Type };
}

const snakeCase = (property: string): string => property.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

type Copied = string | number | boolean | null;

/** Lines for COPY. */
function copied(all: readonly Column[], rows: readonly object[]): string {
  const texts = all.map(({ property, type }) => ({
    property,
    toText: COPIED[type] as ((value: unknown) => Copied) | undefined,
  }));
  let lines = '';
  for (const row of rows) {
    let line = '';
    for (const { property, toText } of texts) {
      const value = (row as Record<string, unknown>)[property] ?? null;
      line += `${copiedText(value === null || toText === undefined ? (value as Copied) : toText(value))}\t`;
    }
    lines += `${line.slice(0, -1)}\n`;
  }
  return lines;
}

function copy(client: PoolClient, statement: string, lines: string): Promise<void> {
  return new Promise<void>((resolve, reject) => {
    const stream = client.query(copyFrom(statement));
    stream.on('error', reject);
    stream.on('finish', resolve);
    stream.end(lines);
  });
}
