import { Link } from '@tanstack/react-router';
import { useState } from 'react';
// oxlint-disable-next-line no-restricted-imports -- a rule of plain text that the API checks, too
import { signatureHeaderProblem } from '../../../src/domain/notifications/webhook.ts';
import { curl } from '../api/bodies.ts';
import { webhooksQuery, type AdminRead } from '../api/queries.ts';
import type { Field } from '../resource/field.ts';
import { editsOf, ResourceList } from '../resource/resource-list.tsx';
import { useForm } from '../resource/use-form.ts';
import { ShownOnce } from '../ui/shown-once.tsx';
import { Code, Empty, Screen, Tag } from '../ui/parts.tsx';
import type { Column } from '../ui/table-frame.tsx';
import { SignatureSnippet } from './signature-snippet.tsx';
import { DisabledTag } from './webhook-state.tsx';

type Webhook = AdminRead<'/v1/webhooks'>[number];

const COLUMNS: readonly Column<Webhook>[] = [
  {
    id: 'name',
    header: 'Name',
    value: ({ name }) => name,
    cell: ({ id, name }) => (
      <Link to="/webhooks/$id" params={{ id }} className="font-medium text-accent hover:underline">
        {name}
      </Link>
    ),
  },
  { id: 'url', header: 'URL', cell: ({ url }) => <Code>{url}</Code> },
  {
    id: 'events',
    header: 'Events',
    cell: ({ events }) => <span title={events.join('\n')}>{events.length}</span>,
    align: 'right',
  },
  {
    id: 'enabled',
    header: 'Status',
    cell: ({ id, enabled }) => (enabled ? <Tag tone="good">enabled</Tag> : <DisabledTag id={id} />),
  },
];
const HEADER: Partial<Field> = {
  check: (value) => {
    const problem = signatureHeaderProblem(String(value));
    return problem === null ? null : `The header ${problem}.`;
  },
  below: (value) => <SignatureSnippet header={value} />,
};

const URL_FIELD: Partial<Field> = {
  check: (value) =>
    /^https?:\/\/[^/]/i.test(String(value)) ? null : 'Enter an address that begins with https:// or http://.',
};

export function Webhooks() {
  const [secret, setSecret] = useState<string | null>(null);
  return (
    <Screen title="Webhooks" about="Addresses of your servers that Laurel sends a message when something happens.">
      <ResourceList
        noun="webhook"
        nameOf={({ name }) => name}
        query={webhooksQuery}
        columns={COLUMNS}
        fields={useForm('webhook', { header: HEADER, url: URL_FIELD })}
        {...editsOf('/v1/webhooks')}
        onCreated={(body) => setSecret((body as { created: { secret: string }[] }).created[0]?.secret ?? null)}
        empty={
          <Empty
            title="No webhooks yet"
            curl={curl('POST', '/v1/webhooks', [
              { name: 'Our app', url: 'https://example.org/hooks', events: ['achievement.completed'] },
            ])}
          >
            A webhook notifies your server when a user completes an achievement, reaches a level or loses a streak.
            Create one here, or with:
          </Empty>
        }
      />
      <ShownOnce title="The webhook’s secret" secret={secret} onClose={() => setSecret(null)}>
        Your server verifies the signatures of messages with it.
      </ShownOnce>
    </Screen>
  );
}
