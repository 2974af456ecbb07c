import { Type, type Static } from 'typebox';
import { Nullable } from './schemas.ts';

/** The organisation's settings as the contract shapes them. What is ours alone is in `Organisation`. */

const Text = Type.String({ maxLength: 255 });
/** Pages follow and load these: other schemes (`javascript:`, `data:`) could be more than an address. */
export const HTTP_URL_PATTERN = '^https?://';
const Url = Type.String({ format: 'uri', maxLength: 2_048, pattern: HTTP_URL_PATTERN });
const Image = Nullable(Type.Object({ url: Url }));

const FontFamily = Type.Enum([
  'MODERN_SANS',
  'BOOK_SANS',
  'ORGANIC_SANS',
  'GEOMETRIC_SANS',
  'HEAVY_SANS',
  'ROUNDED_SANS',
  'MODERN_SERIF',
  'BOOK_SERIF',
  'MONOSPACE',
]);

/** How an organisation's own messages and pages look. Laurel keeps it for the makers of these. */
export const Branding = Type.Object({
  appName: Text,
  /** Empty until it is set. */
  appUrl: Type.String({ maxLength: 2_048 }),
  brandColor: Text,
  font: FontFamily,
  logo: Image,
  appIcon: Image,
});
export type Branding = Static<typeof Branding>;

/** Without `appName` the organisation's name is shown. */
export const DEFAULT_BRANDING: Omit<Branding, 'appName'> = {
  appUrl: '',
  brandColor: '#000000',
  font: 'MODERN_SANS',
  logo: null,
  appIcon: null,
};

const Experimentation = Type.Object({
  /** Percent of the users in the control group: the organisation's `controlShare`, to the nearest percent. */
  controlRatio: Type.Integer({ minimum: 0, maximum: 100 }),
  /** Days. */
  userActivationWindow: Type.Integer({ minimum: 3, maximum: 30 }),
});

export const AGGREGATION_PERIODS = ['weekly', 'monthly'] as const;

export const Settings = Type.Object({
  branding: Branding,
  experimentation: Experimentation,
  /** Of the recaps. */
  aggregationPeriod: Type.Enum([...AGGREGATION_PERIODS]),
});
export type Settings = Static<typeof Settings>;

export const SettingsChanges = Type.Partial(
  Type.Object({
    branding: Type.Partial(
      Type.Object({
        ...Branding.properties,
        appName: Type.String({ minLength: 1, maxLength: 255 }),
        appUrl: Url,
      }),
    ),
    experimentation: Type.Partial(Experimentation),
    aggregationPeriod: Settings.properties.aggregationPeriod,
  }),
);
export type SettingsChanges = Static<typeof SettingsChanges>;

/** A deployment of the same configuration, as the contract lists them. */
export const Environment = Type.Object({
  name: Type.String(),
  key: Type.String(),
  priority: Type.Integer({ minimum: 1, maximum: 10 }),
});
export type Environment = Static<typeof Environment>;
