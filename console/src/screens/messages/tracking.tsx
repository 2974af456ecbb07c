import { FieldsForm } from '../../resource/editor.tsx';
import type { Field } from '../../resource/field.ts';
import { Panel } from '../../ui/parts.tsx';
import { applySettings, type Settings } from './queries.ts';

const FIELDS: readonly Field[] = [
  {
    name: 'trackOpens',
    label: 'Record opens',
    input: 'yes',
    hint: 'E-mails get an invisible picture, and your app can report opened push notifications.',
  },
  {
    name: 'trackClicks',
    label: 'Record clicks',
    input: 'yes',
    hint: 'Links in e-mails lead through Laurel to their addresses.',
  },
];

/** What Laurel records about users' reactions to messages. */
export function Tracking({ settings: { trackOpens, trackClicks } }: { settings: Settings }) {
  const item = { trackOpens, trackClicks };
  return (
    <Panel title="What users do with messages" className="max-w-3xl">
      <p className="mb-3 text-muted">
        Only the first time of each message is recorded, for the log and for Analytics. It concerns messages sent from
        now on. Your privacy policy should mention it.
      </p>
      <FieldsForm fields={FIELDS} item={item} save={(sent) => applySettings({ ...item, ...sent })} done="Saved." />
    </Panel>
  );
}
