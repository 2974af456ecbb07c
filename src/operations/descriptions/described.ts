import { ADMINISTRATION_TEXTS } from './administration-texts.ts';
import { ANALYTICS_TEXTS } from './analytics-texts.ts';
import { CONFIGURATION_TEXTS } from './configuration-texts.ts';
import { CORRECTION_TEXTS } from './correction-texts.ts';
import { exampleOf, type Schema } from './examples.ts';
import { GUARD_TEXTS } from './guard-texts.ts';
import { IMPORT_TEXTS } from './import-texts.ts';
import { JOB_TEXTS } from './job-texts.ts';
import { LIVE_TEXTS } from './live-texts.ts';
import { PARAMETER_TEXTS } from './parameter-texts.ts';
import { PROGRESS_TEXTS } from './progress-texts.ts';
import { RECOMPUTATION_TEXTS } from './recomputation-texts.ts';
import { TIMELINE_TEXTS } from './timeline-texts.ts';
import { PAYLOAD_TEXTS } from './webhook-texts.ts';

/** A field means the same wherever it occurs, with few exceptions: so its meaning is written once, by its name. */
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

/**
 * A schema whose fields all say what they mean and, unless they are objects, have an example that fits. What the schema says of
 * itself stays.
 * @param around the operation, then the name of the field that the schema is of (`body` for a request's)
 */
export function describedSchema(schema: Schema, around: { operation: string; field: string }): Schema {
  const inside = (one: Schema): Schema => describedSchema(one, around);
  return {
    ...schema,
    ...(schema.properties && {
      properties: Object.fromEntries(
        Object.entries(schema.properties).map(([name, field]) => [name, describedField(field, { ...around, name })]),
      ),
    }),
    ...(schema.items && { items: inside(schema.items) }),
    ...(schema.anyOf && { anyOf: schema.anyOf.map(inside) }),
    ...(typeof schema.additionalProperties === 'object' && {
      additionalProperties: inside(schema.additionalProperties),
    }),
  };
}

function describedField(
  field: Schema,
  { operation, field: parent, name }: { operation: string; field: string; name: string },
): Schema {
  const text = TEXTS[`${operation}.${name}`] ?? TEXTS[`${parent}.${name}`] ?? TEXTS[name];
  return withTexts(describedSchema(field, { operation, field: name }), name, text);
}

/** A parameter's schema, with what it means and an example. */
export function describedParameter(
  schema: Schema,
  { operation, name }: { operation: string; name: string },
): { schema: Schema; description?: string; example?: unknown } {
  const description = PARAMETER_TEXTS[`${operation}:${name}`] ?? PARAMETER_TEXTS[name];
  const example = exampleOf(schema, name);
  return { schema, ...(description !== undefined && { description }), ...(example !== undefined && { example }) };
}

function withTexts(schema: Schema, name: string, text: string | undefined): Schema {
  const example = exampleOf(schema, name);
  return {
    ...schema,
    ...(schema.description === undefined && text !== undefined && { description: text }),
    ...(schema.examples === undefined && example !== undefined && { examples: [example] }),
  };
}
