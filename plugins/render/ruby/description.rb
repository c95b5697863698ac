# Name, version, settings and diagnostic codes of this plugin.

module Boson
  module Description
    NAME = 'render'
    VERSION = '0.1.0'
    SETTINGS = '{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","additionalProperties":false}'

    # Name, title, explanation.
    CODES = [
      ['render-unknown-property', 'A template uses a property that has no value',
       'A template calls `p(\'name\')` without a default value, and neither the manifest nor the job spec sets the property. ' \
       'An explicit null counts as no value. Set the property under the job\'s `properties`, give it a `default` in the job spec, ' \
       "or change the template to `p('name', default)` or `if_p('name')`."],
      ['render-unknown-link', 'A template uses a link that the job does not have',
       'A template calls `link(\'name\')`, but no link with that name was resolved for the job: either it is optional and has no ' \
       'provider, or the job spec does not list it under `consumes`.'],
      ['render-not-allowed', 'A template tries to leave its sandbox',
       'Templates run in a sandbox without files, network, processes and randomness, because the same input must give the same files. ' \
       'Use properties and links for input, and variables of the manifest for random values.'],
      ['render-template-syntax', 'A template is not valid Ruby',
       'Ruby cannot compile the ERB file. The message is that of Ruby.'],
      ['render-template-failed', 'A template raises an exception',
       'The message is the text of the exception. Authors of releases use `raise` to reject combinations of properties, so the text ' \
       'often describes what to change in the manifest.'],
      ['render-out-of-memory', 'A template exceeds its memory limit',
       'The host limits the memory of each call.'],
      ['render-not-text', 'A template renders bytes that are not text',
       'Rendered files must be UTF-8 text.'],
      ['render-context-invalid', 'The context of a template is invalid',
       'The data of the instance could not be converted to Ruby values, for example because a property has a key that is not a string.'],
      ['render-template-printed', 'A template prints messages',
       'A template calls a method such as `puts` or `warn`. The output is discarded. Use `<%= %>` to write to the file.'],
      ['render-clock-fixed', 'A template uses the current time',
       'Templates are rendered several times, in several places, and the same input must give the same files. So the time is always ' \
       '2000-01-01 00:00 UTC. Programs that need the current time must read it when they run, for example in a script.'],
      ['render-required-member', 'The plugin does not know a member of the request',
       'The host of a later version sends data that the plugin must not ignore. Replace the plugin by one for this version of ' \
       'the host.']
    ].freeze
  end
end
