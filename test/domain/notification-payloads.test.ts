import { expect, test } from 'vitest';
import { NOTIFICATION_EXAMPLES } from '../../src/domain/notifications/examples.ts';
import { NOTIFICATION_PAYLOADS } from '../../src/domain/notifications/payloads.ts';
import { WEBHOOK_EVENTS } from '../../src/domain/notifications/webhook.ts';
import { makeAjv } from '../../src/operations/validation.ts';
import { checkPayload, OWN_EVENTS, payloadFields } from '../contract/contract.ts';

interface Shape {
  properties?: Record<string, Shape>;
  required?: string[];
  items?: Shape;
  anyOf?: Shape[];
}

/** Every field in a schema by its path, with whether it is required. */
function fieldsIn({ properties = {}, required = [], items, anyOf = [] }: Shape, path = ''): [string, boolean][] {
  return [
    ...Object.entries(properties).flatMap(([name, field]): [string, boolean][] => [
      [`${path}.${name}`, required.includes(name)],
      ...fieldsIn(field, `${path}.${name}`),
    ]),
    ...[items, ...anyOf].flatMap((one) => (one === undefined ? [] : fieldsIn(one, path))),
  ];
}

test.each(OWN_EVENTS)("the example of %s fits Laurel's own fields", (type) => {
  const ajv = makeAjv();
  expect([ajv.validate(NOTIFICATION_PAYLOADS[type], NOTIFICATION_EXAMPLES[type]), ajv.errors]).toEqual([true, null]);
});

test.each(WEBHOOK_EVENTS.filter((type) => !OWN_EVENTS.includes(type)))(
  "%s has the contract's fields, and its example fits both",
  (type) => {
    const ours = new Map(fieldsIn(NOTIFICATION_PAYLOADS[type] as Shape));
    const theirs = payloadFields(type);
    expect(theirs.length).toBeGreaterThan(5);
    const missing = theirs.filter(([path, required]) => !ours.has(path) || (required && !ours.get(path)));
    expect(missing).toEqual([]);

    const example = NOTIFICATION_EXAMPLES[type];
    const ajv = makeAjv();
    expect([ajv.validate(NOTIFICATION_PAYLOADS[type], example), ajv.errors]).toEqual([true, null]);
    checkPayload(example);
  },
);

test('refuses a payload that lacks a field of the contract', () => {
  const { user: _user, ...rest } = NOTIFICATION_EXAMPLES['streak.lost'];
  expect(() => checkPayload(rest)).toThrow('does not fit the contract');
});
