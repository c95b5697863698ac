# ERB text becomes Ruby source: the very source that Ruby's own compiler gives for `trim_mode: '-'`, in a fraction of its time, which
# was a third of what rendering takes. Its regular expressions try every position of the text; here `byteindex` leaps from tag to
# tag. Calls of methods that Ruby has in C are what costs here, so there are few of them for a tag.

module Boson
  class Source
    # ERB reads the encoding and the like from a comment in front: then it is ERB that compiles.
    def self.of(text)
      return ERB.new(text, trim_mode: '-').src if text.start_with?('<%#') && text.match?(/coding|frozen/)

      new(text.b).ruby
    end

    NEWLINE, RETURN, SPACE, TAB, DASH, PERCENT, EQUALS, HASH = "\n\r \t-%=#".bytes
    # That many line ends, ready made.
    NEWLINES = Array.new(100) { |count| ("\n" * count).freeze }.freeze
    private_constant :NEWLINE, :RETURN, :SPACE, :TAB, :DASH, :PERCENT, :EQUALS, :HASH, :NEWLINES

    # As bytes: texts end up escaped, and code keeps its bytes.
    def initialize(text)
      @text = text
      @size = text.bytesize
      @place = 0
      # What a text or a tag has so far; nil for nothing.
      @content = nil
      @script = ["#coding:UTF-8\n", "_erbout = +''"]
      @line_is_empty = false
    end

    def ruby
      while @place < @size
        tag = text_until_tag
        code_of(tag) if tag
      end
      put
      add('_erbout')
      @script.join
    end

    private

    # The byte behind the `<%` of the next tag; nil where the text went on with a literal `<%` or ended.
    def text_until_tag
      open = @text.byteindex('<%', @place)
      return keep_rest unless open

      kind = @text.getbyte(open + 2)
      keep_text(kind == DASH ? before_spaces(open) : open)
      @place = open + (kind == EQUALS || kind == DASH || kind == HASH || kind == PERCENT ? 3 : 2)
      if kind == PERCENT
        keep('<%')
        return
      end
      put
      kind || SPACE
    end

    # Where the spaces and tabs in front of `<%-` begin, if nothing else is before them on their line. What follows a tag counts
    # as the begin of a line.
    def before_spaces(open)
      start = open
      while start > @place
        before = @text.getbyte(start - 1)
        break unless before == SPACE || before == TAB

        start -= 1
      end
      start == @place || before == NEWLINE ? start : open
    end

    def keep(text)
      @content = @content ? @content + text : text
    end

    # The text up to `close`. A line end alone is a separate statement, as in ERB.
    def keep_text(close)
      return if close == @place

      keep(@text.byteslice(@place, close - @place))
      put if close - @place == 1 && @text.getbyte(@place) == NEWLINE
    end

    def keep_rest
      keep(@text.byteslice(@place, @size - @place)) if @place < @size
      @place = @size
      nil
    end

    # Text becomes a statement, with its line ends behind it: line numbers stay the template's.
    def put
      return unless @content

      add("_erbout.<< #{@content.dump}.freeze#{newlines(@content)}")
      @content = nil
    end

    def newlines(text)
      count = text.count("\n")
      NEWLINES[count] || ("\n" * count)
    end

    # Reads up to the end of a tag. A tag that never ends is text.
    def code_of(tag)
      while (close = @text.byteindex('%>', @place))
        before = close > @place ? @text.getbyte(close - 1) : nil
        stop = before == DASH || before == PERCENT ? close - 1 : close
        keep(@text.byteslice(@place, stop - @place)) if stop > @place || @content.nil?
        @place = close + 2
        next keep('%>') if before == PERCENT

        statement(tag)
        trim_line_end if before == DASH
        return
      end
      keep_rest
    end

    def statement(tag)
      code, @content = @content, nil
      if tag == EQUALS
        add("_erbout.<<((#{code}).to_s)")
      elsif tag == HASH
        add(newlines(code))
      elsif code.getbyte(-1) == NEWLINE
        add(code.chop)
        end_line
      else
        add(code)
      end
    end

    # Behind `-%>`.
    def trim_line_end
      following = @text.getbyte(@place)
      if following == NEWLINE
        @place += 1
      elsif following == RETURN && @text.getbyte(@place + 1) == NEWLINE
        @place += 2
      elsif following
        return
      end
      end_line
    end

    def add(statement)
      @script << '; ' unless @line_is_empty
      @script << statement
      @line_is_empty = false
    end

    def end_line
      @script << "\n"
      @line_is_empty = true
    end
  end
end
