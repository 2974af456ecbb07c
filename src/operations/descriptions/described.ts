import { ADMINISTRATION_TEXTS, IMPORT_TEXTS, JOB_TEXTS } from './administration-texts.ts';
import { ANALYTICS_TEXTS } from './analytics-texts.ts';
import { CONFIGURATION_TEXTS } from './configuration-texts.ts';
import { CORRECTION_TEXTS, GUARD_TEXTS, RECOMPUTATION_TEXTS, TIMELINE_TEXTS } from './correction-texts.ts';
import { exampleOf, type Schema } from './examples.ts';
import { LIVE_TEXTS, PAYLOAD_TEXTS } from './webhook-texts.ts';
import { withNoun } from './nouns.ts';
import { PARAMETER_TEXTS } from './parameter-texts.ts';
import { PROGRESS_TEXTS } from './progress-texts.ts';

/**
 * What fields mean, by their name and as many names around it as decide: `awards.date`, `date`. An operation in front
 * (`users_points.date`) restricts a text to it. `created[]` is for lists only.
 */
const TEXTS: Readonly<Record<string, string>> = {
  ...RECOMPUTATION_TEXTS,
  ...CORRECTION_TEXTS,
  ...GUARD_TEXTS,
  ...IMPORT_TEXTS,
  ...JOB_TEXTS,
  ...TIMELINE_TEXTS,
  ...LIVE_TEXTS,
  ...PROGRESS_TEXTS,
  ...CONFIGURATION_TEXTS,
  ...ANALYTICS_TEXTS,
  ...ADMINISTRATION_TEXTS,
  ...PAYLOAD_TEXTS,
};

export interface Place {
  operation: string;
  path: string;
  /** Names of the fields around it, outermost first, after `body` for a request, `answer` for an answer and `payload` for a webhook. */
  names: readonly string[];
}

/** A schema whose fields all have a description and, unless they are objects, an example. */
export function describedSchema(schema: Schema, place: Place): Schema {
  const inside = (one: Schema): Schema => describedSchema(one, place);
  return {
    ...schema,
    ...(schema.properties && {
      properties: Object.fromEntries(
        Object.entries(schema.properties).map(([name, field]) => [name, describedField(field, name, place)]),
      ),
    }),
    ...(schema.items && { items: inside(schema.items) }),
    ...(schema.anyOf && { anyOf: schema.anyOf.map(inside) }),
    ...(typeof schema.additionalProperties === 'object' && {
      additionalProperties: inside(schema.additionalProperties),
    }),
  };
}

function describedField(field: Schema, name: string, place: Place): Schema {
  const names = [...place.names, name];
  const { description = fieldText(place, names, field.type === 'array'), ...schema } = describedSchema(field, {
    ...place,
    names,
  });
  const example = exampleOf(schema, name);
  return {
    ...schema,
    ...(description !== undefined && { description }),
    ...(schema.examples === undefined && example !== undefined && { examples: [example] }),
  };
}

const wordsOf = (path: string): string[] => path.split(/[/{}]+/);

/** The text with the most names around the field; of those with as many the operation's own. */
function fieldText({ operation, path, names: around }: Place, names: string[], isList: boolean): string | undefined {
  for (let from = 0; from < names.length; from += 1) {
    const name = names.slice(from).join('.');
    const text = TEXTS[`${operation}.${name}`] ?? (isList ? TEXTS[`${name}[]`] : undefined) ?? TEXTS[name];
    if (text !== undefined) return withNoun(text, [...wordsOf(path), ...around]);
  }
  return undefined;
}

export function describedParameter(
  schema: Schema,
  { operation, path, name }: Pick<Place, 'operation' | 'path'> & { name: string },
): { schema: Schema; description?: string; example?: unknown } {
  const text = PARAMETER_TEXTS[`${operation}:${name}`] ?? PARAMETER_TEXTS[name];
  const inPath = path.indexOf(`{${name}}`);
  const description = text && withNoun(text, wordsOf(inPath < 0 ? path : path.slice(0, inPath)));
  const example = exampleOf(schema, name);
  return { schema, ...(description !== undefined && { description }), ...(example !== undefined && { example }) };
}
