/** The fields of the e-mail channel's forms, by transport. */
// oxlint-disable-next-line no-restricted-imports -- a rule of plain data that the API checks, too
import { bodyProblem, PLACEHOLDERS } from '../../../../src/domain/notifications/http-provider.ts';
import type { Field } from '../../resource/field.ts';
import { AnswerRules } from './answer-rules.tsx';
import { type KeyValues, KeyValuesInput } from './key-values.tsx';

const SECURITY = [
  { value: 'starttls', text: 'STARTTLS (usually port 587)' },
  { value: 'tls', text: 'TLS from the start (usually port 465)' },
  { value: 'none', text: 'none: not encrypted, without a login' },
];
const ENCRYPTED = { field: 'security', is: ['tls', 'starttls'] };

const ENABLED: Field = {
  name: 'enabled',
  label: 'Send e-mails',
  input: 'yes',
  hint: 'Off: nothing falls due, and e-mails that wait are dropped when it is too late for them.',
  initial: true,
};

const SENDER: readonly Field[] = [
  {
    name: 'senderAddress',
    label: 'Sender’s address',
    input: 'text',
    hint: 'Your provider must allow it. Its domain needs SPF, DKIM and DMARC records, or e-mails become spam.',
    required: true,
  },
  {
    name: 'senderName',
    label: 'Sender’s name',
    input: 'text',
    hint: 'As users see it, such as the name of your app.',
    clearable: true,
  },
  { name: 'replyTo', label: 'Address for replies', input: 'text', hint: 'Empty: the sender’s.', clearable: true },
  {
    name: 'pace',
    label: 'E-mails a second',
    input: 'number',
    hint: 'The most that your provider allows, from 0.01 to 100.',
    initial: 5,
    required: true,
  },
];

/** Of a mail server. */
export const smtpFields = (hasPassword: boolean): readonly Field[] => [
  ENABLED,
  {
    name: 'host',
    label: 'Mail server',
    input: 'text',
    hint: 'The name of the SMTP server of your e-mail provider, such as smtp.example.com.',
    required: true,
  },
  { name: 'security', label: 'Encryption', input: 'choice', options: SECURITY, initial: 'starttls', required: true },
  { name: 'port', label: 'Port', input: 'number', initial: 587, required: true },
  {
    name: 'username',
    label: 'User name',
    input: 'text',
    hint: 'For the login. Empty: Laurel does not log in.',
    clearable: true,
    when: ENCRYPTED,
  },
  {
    name: 'password',
    label: 'Password',
    input: 'secret',
    hint: hasPassword
      ? 'Stored encrypted, and never shown. Leave it empty to keep the stored one.'
      : 'Stored encrypted, and never shown again.',
    when: { field: 'username', is: [] },
  },
  ...SENDER,
];

const BODY = {
  from: '{{from}}',
  to: '{{to}}',
  subject: '{{subject}}',
  html: '{{html}}',
  text: '{{text}}',
  headers: [
    { name: 'List-Unsubscribe', value: '{{listUnsubscribe}}' },
    { name: 'List-Unsubscribe-Post', value: '{{listUnsubscribePost}}' },
  ],
};

function problemOfBody(value: unknown): string | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'Enter a JSON object.';
  const problem = bodyProblem(value as Record<string, unknown>);
  return problem === null ? null : `It ${problem}.`;
}

/** A header without a value. `null`: the stored value stays. */
const missingValue = (value: unknown): string | null => {
  const name = Object.entries((value ?? {}) as KeyValues).find(([, one]) => one === '')?.[0];
  return name === undefined ? null : `Enter the value of ${name}.`;
};

/** Of a provider to which e-mails are posted. */
export const HTTP_FIELDS: readonly Field[] = [
  ENABLED,
  {
    name: 'url',
    label: 'URL',
    input: 'text',
    hint: 'Laurel sends a POST with JSON there, one for each e-mail. It must begin with https://.',
    required: true,
  },
  {
    name: 'secretHeaders',
    label: 'Secret headers',
    input: 'json',
    initial: {},
    check: missingValue,
    custom: (input) => (
      <KeyValuesInput
        {...input}
        isSecret
        label="Secret headers"
        hint="Such as Authorization, with the provider’s key. Stored encrypted, and never shown. If the URL changes, enter them again."
      />
    ),
  },
  {
    name: 'headers',
    label: 'Further headers',
    input: 'json',
    initial: {},
    check: missingValue,
    custom: (input) => (
      <KeyValuesInput
        {...input}
        label="Further headers"
        hint="Everybody who may see this page reads them. Content-Type is always JSON."
      />
    ),
  },
  {
    name: 'body',
    label: 'Body of a request',
    input: 'json',
    hint: `JSON as your provider wants it. These texts are replaced: ${PLACEHOLDERS.map((name) => `{{${name}}}`).join(', ')}.`,
    initial: BODY,
    required: true,
    check: problemOfBody,
  },
  {
    name: 'answers',
    label: 'What answers mean',
    input: 'json',
    initial: [],
    custom: (input) => <AnswerRules {...input} />,
  },
  ...SENDER,
];
